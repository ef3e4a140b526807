// How an RC responder asks for the packet that it expects, and what it says no to (IBTA 9.7.5.1, 9.7.5.2):
// one NAK, then silence about what comes ahead until the expected packet is there.
//
//   nothing ── owe() ──▶ owed ── take() ──▶ sent
//   nothing ── later() ──▶ later ── owe() ──▶ owed
//   any ── expected_came() ──▶ nothing
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/ib/psn.h"
#include "wire/headers.h"

namespace softrnic::ib {

class NakState {
 public:
  struct Nak {
    std::uint8_t syndrome = 0;
    Psn psn;
  };

  /// A connection begins.
  void start(Psn expected) {
    *this = {};
    dropped_end_ = expected;
  }
  /// It ends: what is owed stays owed, nothing else will be asked for.
  void stop() {
    if (asking_ == Asking::later) asking_ = Asking::sent;
  }

  /// Packets from `psn` on came ahead of the expected one, and are dropped. Whether that has to be said.
  bool came_ahead(Psn psn, std::uint32_t packets) {
    if (asking_ != Asking::sent) dropped_end_ = std::max(dropped_end_, psn + packets);
    return asking_ == Asking::nothing;
  }
  void expected_came() { asking_ = Asking::nothing; }
  /// Whether packets from `expected` on were dropped of which no NAK has told: the expected one came late, or
  /// copy of it, before the NAK that asked for it went out.
  bool must_ask(Psn expected) const { return asking_ == Asking::nothing && dropped_end_ > expected; }

  /// A NAK is to be sent.
  void owe(std::uint8_t syndrome, Psn psn) {
    asking_ = Asking::owed;
    nak_ = {syndrome, psn};
  }
  /// A NAK is to be owed at `when`.
  void later(TimePoint when) {
    asking_ = Asking::later;
    when_ = when;
  }
  TimePoint deadline() const { return asking_ == Asking::later ? when_ : kNever; }

  bool owed() const { return asking_ == Asking::owed; }
  /// What is owed() says no more than that packets are missing.
  bool asks_to_go_back() const { return nak_.syndrome == wire::kNakPsnSequence; }
  /// Of what is owed(): it is sent.
  Nak take() {
    asking_ = Asking::sent;
    dropped_end_ = Psn();
    return nak_;
  }

  /// Why this state cannot be, while `expected` is expected; nullptr: it can.
  const char* broken_invariant(Psn expected) const {
    return must_ask(expected) ? "packets were dropped that nobody asks for" : nullptr;
  }

 private:
  enum class Asking : std::uint8_t { nothing, later, owed, sent };

  Asking asking_ = Asking::nothing;
  Nak nak_;
  TimePoint when_ = kNever;
  Psn dropped_end_;  ///< end of the packets that were dropped as ahead, as long as no NAK has gone out
};

}  // namespace softrnic::ib
