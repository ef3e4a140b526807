// The SEND or WRITE that is coming in: checks the order and length of its packets and puts their payload
// where it belongs. Shared by RC and UC, which differ only in what they do about a fault.
#pragma once

#include <cstdint>

#include "transport/ib/eager_send.h"
#include "transport/ib/host.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/sge_list.h"
#include "transport/ib/syndromes.h"

namespace softrnic::ib {

/// The fault of a request whose lengths do not fit.
Verdict wrong_length(const RxPacket& rx, std::uint32_t mtu);

class InboundMessage {
 public:
  /// Takes in a SEND or WRITE packet whose PSN is the expected one. On a fault nothing has changed, except
  /// that a message may have been placed in part.
  Verdict place(const RxPacket& rx, const Attributes& attributes, Host& host);

  /// The same for a SEND of one packet. False: it cannot be taken as it stands, and no fault has been told.
  bool place(const EagerSend& eager, Host& host);

  /// Whether a message has begun and not ended; only its next packet may come then.
  bool active() const { return active_; }
  /// The fault of a request that may not come inside a message (READ, atomics).
  Verdict interrupted_by(const wire::OpcodeInfo& info) const;

  /// Drops the message but keeps its receive for the next one (UC, IBTA 9.8.2.2.3).
  void abandon() { active_ = false; }
  /// Completes the receive in use with an error; nothing when there is none.
  void fail_receive(Status status, const Reason& reason, Host& host);
  /// A WRITE with immediate data may not write where it wants to: ends the receive that it would have taken
  /// with local_access (IBTA 11.6.2). False: that is no such packet, or there is no receive.
  bool spoil_receive(const wire::OpcodeInfo& info, const Reason& reason, Host& host);
  /// The wr_id of the receive in use, nullptr when there is none. Valid until the next call.
  const std::uint64_t* receive_id() const { return receive_ != nullptr ? &receive_->wr_id : nullptr; }
  void forget() { *this = InboundMessage(); }

  /// A SEND or WRITE, or another request of the peer, has come to nothing.
  static void count_refused(const wire::OpcodeInfo& info, Host& host);

  /// A SEND needs a receive at its first packet, a WRITE with immediate at its last (IBTA 9.7.4.1.4).
  static bool needs_receive(const wire::OpcodeInfo& info);
  /// Takes a receive unless one is at hand. nullptr: none is posted.
  const RecvWqe* take_receive(Host& host);

 private:
  Verdict check(const RxPacket& rx, const Attributes& attributes, Host& host) const;
  Verdict check_order(const wire::OpcodeInfo& info) const;
  Verdict check_length(const RxPacket& rx, std::uint32_t mtu) const;
  Verdict check_write(const RxPacket& rx, const Attributes& attributes, Host& host) const;
  Verdict take_receive_for(const RxPacket& rx, Host& host);
  Verdict place_send(const Payload& payload, Host& host);
  Verdict place_write(const Payload& payload, Host& host);
  Verdict finish(const RxPacket& rx, Host& host);

  const RecvWqe* receive_ = nullptr;
  SgeCursor cursor_;
  std::uint64_t address_ = 0;  ///< WRITE: where the next byte goes
  MemoryKey rkey_;
  std::uint32_t remaining_ = 0;  ///< WRITE: bytes still to come
  std::uint32_t received_ = 0;   ///< bytes so far
  wire::Opcode last_opcode_{};
  bool active_ = false;
  bool is_write_ = false;
};

inline constexpr std::uint32_t kMaxMessage = 1U << 31;  ///< bytes (IBTA 9.4)

}  // namespace softrnic::ib
