// What the parts of the manager share: a MAD on its way through, and the bounds of what is believed of it.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "base/reason_id.h"
#include "cm/messages.h"
#include "mad/address.h"
#include "mad/mad.h"

namespace softrnic::cm {

/// What is believed of a peer's 5-bit time-outs, so that no stranger makes this side repeat itself without a
/// pause, or remember him for hours: 134 ms to 8.6 s for an answer, up to 69 s when it asks for more time
/// (MRA).
inline constexpr std::uint8_t kMinPeerTimeout = 15;
inline constexpr std::uint8_t kMaxPeerTimeout = 21;
inline constexpr std::uint8_t kMaxServiceTimeout = 24;

constexpr Duration answer_time_of(std::uint8_t code, std::uint8_t most = kMaxPeerTimeout) {
  return duration_of(std::clamp(code, kMinPeerTimeout, most));
}

/// What the ACK time-out of a path says of a packet's life time on it: half. 0 (no time-out) says nothing;
/// Linux counts with code 16 on RoCE.
constexpr Duration life_time_of(std::uint8_t ack_timeout) {
  constexpr std::uint8_t kUnknown = 16;
  return duration_of(
      ack_timeout == 0 ? kUnknown : static_cast<std::uint8_t>(std::min(ack_timeout, kMaxPeerTimeout) - 1));
}

/// A MAD on its way through the manager.
struct Incoming {
  const mad::Address& from;
  const mad::Header& header;
  Bytes mad;
  TimePoint now;

  /// The private data: every CM message ends with it.
  Bytes private_data(std::size_t bytes) const { return mad.subspan(mad.size() - bytes); }
  /// The additional information that begins at `offset` of the message, as far as it counts.
  Bytes additional_info(std::size_t offset, std::uint8_t length) const {
    return mad.subspan(mad::kHeaderBytes + offset, std::min<std::size_t>(length, kAdditionalInfo));
  }
};

/// Copies `from` to the start of `to`; it fits, see too_long().
template <std::size_t n>
void fill(Data<n>& to, Bytes from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

inline constexpr std::uint32_t kMax24Bits = 0xffffff;
struct ValueLimit {
  std::uint32_t value, most;
};
/// Nothing, or which is the first value above its limit.
inline std::optional<Failure> above_limit(std::initializer_list<ValueLimit> limits) {
  for (const auto& [value, most] : limits)
    if (value > most) return refuse(EINVAL, ReasonId::cm_bad_value, value, most);
  return std::nullopt;
}

/// Nothing, or why `data` does not fit into `room` bytes.
inline std::optional<Failure> too_long(Bytes data, std::size_t room) {
  if (data.size() <= room) return std::nullopt;
  return refuse(EINVAL, ReasonId::cm_data_too_long, data.size(), room);
}

}  // namespace softrnic::cm
