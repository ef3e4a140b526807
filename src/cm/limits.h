// Bounds on what peers can make this side remember; each refusal is explained. An ID takes some 700 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrnic::cm {

struct Limits {
  /// Passive connections and SIDR requests that the host has not answered or the peer not confirmed. One
  /// more, and the oldest is given up (EventKind::unreachable): who floods keeps nobody else out, and who
  /// means it repeats his request. A program that connects to a server 10,000 times at once is an honest one.
  std::size_t half_open = 32768;
  std::size_t half_open_peer = 16384;  ///< of them, from one remote GID
  /// REQs that the host is told of without a sign of life of their senders: so many at once, and so many a
  /// second in the long run. `softrnic serve` drops the oldest of 64 that have not proved themselves: who
  /// has to has a second for it.
  std::uint32_t strangers = 32, strangers_a_second = 32;
  /// Those beyond it wait for that sign, 3 s at most. One more, and the oldest is forgotten.
  std::size_t held = 8192, held_peer = 2048;
  /// Of whom the sign was asked for. A GID that has not answered so many questions gets no more
  /// of them: what nobody takes off the link may lie for seconds in the socket's buffer, and
  /// answers to others find no room.
  std::size_t asked = 8192, asked_peer = 2;
  /// Refused requests that are remembered so that their repetitions are answered alike, without asking the
  /// host. Those beyond it are forgotten: the host hears of a repetition as of a new request.
  std::size_t refused = 16384;
  std::size_t refused_peer = 4096;
  std::size_t connections = 65536;  ///< all ids: destroyed ones that still wait, and timewait, included
};

}  // namespace softrnic::cm
