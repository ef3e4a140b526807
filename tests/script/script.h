// Packet scripts: a QP in a bench, one line a packet.
//
//   rc();                                             an RC QP in RTS, both PSNs 5, MTU 1024
//   post("send len=8");                               a work request; its number counts up from 1
//   out("RC Send Only psn=5 len=8 ackreq");           the QP's next packet must be this one
//   in("RC Acknowledge psn=5 msn=1");                 a packet comes in
//   sent("1 success");                                the next send completion must be this one
//   quiet();                                          nothing more to send, nothing else was reported
//
// Of an expected packet only the fields named are compared, flags (ackreq, se) always. Memory: kMemory bytes
// at address kBase with key kKey, all rights. Payload of packets sent is compared with that memory; payload
// of packets received is a pattern made from PSN and place, see payload_byte().
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/script/fake_host.h"
#include "tests/script/packet_text.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib::test {

inline constexpr std::uint64_t kBase = 0x10000;
inline constexpr std::uint32_t kMemory = 0x40000;
inline constexpr std::uint32_t kKey = 0x20;
inline constexpr Qpn kLocal{0x010011}, kRemote{0x020022};

/// A line of a script (std::source_location, which clang 14 lacks).
struct Where {
  const char* file;
  int line;
  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

class Script : public ::testing::Test {
 protected:
  Script();

  // ---- setting up; change `attributes` and `capacity` before
  Attributes attributes;
  Capacity capacity{.send_wqes = 64, .send_sges = 4, .inline_bytes = 64};
  FakeHost host;
  PathWindow own_window;  ///< outlives the QP, which gives back to it at its end what is in flight
  PathWindow* window = nullptr;
  void rc();  ///< its peer has said that it does not count receives
  void rc_limited() { make(QpType::rc, true); }
  void rc_in_rtr() { make(QpType::rc, false); }
  void uc() { make(QpType::uc, true); }
  void ud() { make(QpType::ud, true); }
  void xrc_initiator();
  void xrc_target() { make(QpType::xrc_target, false); }

  /// How many pieces of payloads that are elsewhere may still be fetched, and how many were.
  unsigned fetches = ~0U, fetched = 0;

  // ---- doing
  /// "OP [len=N] [at=ADDRESS] [lkey=K] [va=A] [rkey=K] [imm=N] [inv=K] [add=N] [swap=N] [cmp=N] [sges=N]
  /// [srqn=N] and flags unsignaled, fence, se, inline". OP as in ibv_wr_opcode: send, send_imm, write, write_imm,
  /// read, cas, faa, send_inv.
  void post(const std::string& line);
  /// Posts a receive of `length` bytes at `address`; numbered from 100.
  void post_receive(std::uint32_t length, std::uint64_t address = kBase, std::uint32_t lkey = kKey);
  /// "packets=N": it stands for so many; "joined=N": the link has put them together, of N
  /// bytes each but the last.
  void in(const std::string& line, Where where = Where::current());
  /// Asks the QP instead of giving it the packet.
  bool lacks_receive(const std::string& line);
  void in_from(const wire::Gid& source, const std::string& line);
  /// It has taken this path, from its other end.
  void in_by(const AddressVector& path, const std::string& line);
  /// Lets time pass, calling expire() at every deadline on the way.
  void pass(Duration time);

  // ---- expecting
  void out(const std::string& line, Where where = Where::current());
  void silent(Where where = Where::current());  ///< nothing to send
  void blocked(Where where = Where::current());
  /// "WR STATUS", e.g. "1 success", "2 remote_access"
  void sent(const std::string& line, Where where = Where::current());
  /// "WR STATUS [len=N] [imm=N] [inv=K] [se] [write]"
  void received(const std::string& line, Where where = Where::current());
  void event(QpEvent expected, Where where = Where::current());
  void because_of(ReasonId id, Where where = Where::current());
  void quiet(Where where = Where::current());  ///< silent, and no completion or event is left
  std::uint64_t counted(Counter counter) { return host.counters[counter]; }

  std::byte* at(std::uint64_t address) { return memory_.data() + (address - kBase); }
  static std::byte payload_byte(std::uint32_t psn, std::size_t index) {
    return static_cast<std::byte>(psn * 7 + index + 1);
  }
  /// Whether `size` bytes at `address` are what the packet with that PSN carried.
  bool holds(std::uint64_t address, std::uint32_t psn, std::size_t size);

  Endpoint& qp() { return *endpoint_; }
  TxPacket packet;  ///< the last one out
  TimePoint now{std::chrono::seconds(1)};

 private:
  class Elsewhere;

  void make(QpType type, bool to_rts);
  void arrive(const wire::Gid& source, const wire::Gid& destination, const std::string& line,
              const std::function<void(const RxPacket&)>& handle);
  void check_payload(Where where);
  /// After a call into the endpoint.
  void keeps_invariants();

  std::vector<std::byte> memory_;
  std::unique_ptr<Endpoint> endpoint_;
  std::uint64_t next_send_ = 1;
  std::uint64_t next_receive_ = 100;
};

std::string text_of(const SendDone& done);
std::string text_of(const RecvDone& done);

}  // namespace softrnic::ib::test
