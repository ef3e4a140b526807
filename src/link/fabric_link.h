// The link of a lane on an emulated InfiniBand host: frames through a socket to the process of the fabric.
#pragma once

#include "base/unique_fd.h"
#include "link/fabric_receiver.h"
#include "link/fabric_sender.h"
#include "link/link.h"

namespace softrnic::link {

class FabricLink final : public Link {
 public:
  /// A socket of FabricMessages.
  explicit FabricLink(UniqueFd socket) : socket_(std::move(socket)), sender_(fd()), receiver_(fd()) {}

  void set_addresses(std::vector<device::GidEntry> addresses) override {
    sender_.set_addresses(std::move(addresses));
  }
  void set_tap(PacketTap* tap) override {
    sender_.set_tap(tap);
    receiver_.set_tap(tap);
  }
  void send(const ib::TxPacket& packet, TimePoint) override { sender_.send(packet); }
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint) override {
    sender_.send_damaged(packet, bit);
  }
  void flush(TimePoint) override { sender_.flush(); }
  bool is_full() const override { return sender_.is_full(); }
  std::size_t receive(Receiver& receiver, TimePoint now) override;
  bool has_packet(TimePoint) const override;
  /// At once while there are lost packets to report.
  TimePoint deadline() const override { return sender_.has_report() ? TimePoint::min() : kNever; }
  int readable_fd() const override { return receiver_.at_end() ? -1 : fd(); }
  bool join(const wire::Gid& group, std::uint32_t port) override;
  bool leave(const wire::Gid& group, std::uint32_t port) override;

 private:
  int fd() const { return socket_.get(); }
  bool tell(FabricMessageType type, const wire::Gid& group, std::uint32_t port);

  UniqueFd socket_;
  FabricSender sender_;
  FabricReceiver receiver_;
};

}  // namespace softrnic::link
