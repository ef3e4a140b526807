// A link to nowhere: what a lane has in a forked child, and what links of tests are but
// for what they are about.
#pragma once

#include "link/link.h"

namespace softrnic::link {

class NullLink : public Link {
 public:
  void set_tap(PacketTap*) override {}
  void set_addresses(std::vector<device::GidEntry>) override {}
  void send(const ib::TxPacket&, TimePoint) override {}
  void send_damaged(const ib::TxPacket&, std::uint32_t, TimePoint) override {}
  void flush(TimePoint) override {}
  std::size_t receive(Receiver&, TimePoint) override { return 0; }
  bool has_packet(TimePoint) const override { return false; }
  int readable_fd() const override { return -1; }
  bool join(const wire::Gid&, std::uint32_t) override { return false; }
  bool leave(const wire::Gid&, std::uint32_t) override { return false; }
};

}  // namespace softrnic::link
