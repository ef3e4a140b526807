// The link of a lane on an emulated InfiniBand host: frames through a socket to the process of the fabric.
#pragma once

#include "base/time.h"
#include "base/unique_fd.h"
#include "link/fabric_groups.h"
#include "link/fabric_receiver.h"
#include "link/fabric_sender.h"
#include "link/link.h"

namespace softrnic::link {

class FabricLink final : public Link {
 public:
  /// How soon a full link is flushed again by a program that polls and does not wait until the socket is
  /// writable.
  static constexpr Duration kFlushAgain = std::chrono::microseconds(100);

  /// A socket of FabricMessages.
  explicit FabricLink(UniqueFd socket)
      : socket_(std::move(socket)), groups_(fd()), sender_(fd()), receiver_(fd()) {}

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
  void flush(TimePoint now) override;
  bool is_full() const override { return groups_.has_untold() || sender_.is_full(); }
  std::size_t receive(Receiver& receiver, TimePoint now) override;
  bool has_packet(TimePoint) const override;
  TimePoint deadline() const override;
  int readable_fd() const override { return receiver_.at_end() ? -1 : fd(); }
  /// A full link tells the fabric in a flush, to which deadline() has it called.
  bool join(const wire::Gid& group, std::uint32_t port) override {
    return groups_.join(group, static_cast<std::uint8_t>(port));
  }
  bool leave(const wire::Gid& group, std::uint32_t port) override {
    return groups_.leave(group, static_cast<std::uint8_t>(port));
  }

 private:
  int fd() const { return socket_.get(); }

  UniqueFd socket_;
  FabricGroups groups_;
  FabricSender sender_;
  FabricReceiver receiver_;
  TimePoint flush_again_{};  ///< while it is full
};

}  // namespace softrnic::link
