// What is known of the buffer that the packets of a path arrive in. UC and UD hear nothing from their peer;
// where a gauge looks at the receiver's buffer, they take only what is free there.
#pragma once

#include <cstdint>
#include <utility>

#include "base/time.h"

namespace softrnic::ib {

/// Looks at the buffer that the packets of a path arrive in.
class Gauge {
 public:
  /// Bytes of the buffer that this sender may fill now. A datagram costs datagram_cost().
  virtual std::uint32_t room(TimePoint now) = 0;
  /// False: nothing is known of that buffer, and senders keep to a rate.
  virtual bool knows(TimePoint now) {
    static_cast<void>(now);
    return true;
  }
  /// False: the room is not kept for this sender, as others fill the same buffer. Then each packet looks.
  virtual bool reserves() const { return true; }

 protected:
  ~Gauge() = default;
};

/// The most that a datagram of `bytes` takes of a socket's receive buffer: the kernel counts
/// the memory, not the bytes.
constexpr std::uint32_t datagram_cost(std::uint32_t bytes) { return 2 * bytes + 1024; }

/// The room that a gauge has told. What is kept for this sender is used up before the gauge is asked again:
/// that costs a message.
class GaugedRoom {
 public:
  enum class Answer : std::uint8_t {
    granted,
    full,
    unknown,  ///< there is no gauge, or it knows nothing, or the receiver has taken nothing for kPatience
  };

  /// A receiver that takes nothing for so long is stopped or dead: what is sent to it may be lost.
  static constexpr Duration kPatience = std::chrono::seconds(1);

  /// Goes by this gauge from now on, which outlives it; nullptr: by none. Room that the one before has told
  /// is in another buffer, and is forgotten.
  void observe(Gauge* gauge) {
    if (gauge != std::exchange(gauge_, gauge)) {
      room_ = 0;
      full_since_ = kNever;
    }
  }
  /// Takes the room for a datagram of `bytes`, if it is there.
  Answer take(std::uint32_t bytes, TimePoint now);

  /// For tests: what of its promises to itself does not hold; nullptr: all does.
  const char* broken_invariant() const;

 private:
  Gauge* gauge_ = nullptr;
  std::uint32_t room_ = 0;         ///< left of what the gauge said
  TimePoint full_since_ = kNever;  ///< when the gauge first refused; kNever: it did not
};

}  // namespace softrnic::ib
