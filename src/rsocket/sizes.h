// How large the queues and buffers of an rsocket are: the files of /etc/rdma/rsocket, then its options.
#pragma once

#include <cstdint>

namespace softrnic::rsocket {

inline constexpr std::uint32_t kLeastSendRoom =
    2048;  ///< bytes: less free room of its own does not make a socket writable
inline constexpr std::uint16_t kLeastQueue = 16;
inline constexpr std::uint16_t kMostQueue = 0xfffe;
inline constexpr std::uint32_t kControlMessages =
    4;  ///< under way at once; the send queue keeps room for them

// A long send leaves in pieces that grow, so that the first is on its way while the next is copied; bytes.
inline constexpr std::uint32_t kFirstPiece = 2048;
inline constexpr std::uint32_t kLargestPiece = 65536;

struct Sizes {
  std::uint32_t send_buffer = 1U << 17;
  std::uint32_t receive_buffer = 1U << 17;
  std::uint16_t send_queue = 384;
  std::uint16_t receive_queue = 384;
  std::uint16_t inline_data = 64;
  std::uint16_t mappings = 0;
};

struct Defaults {
  Sizes sizes;
  std::uint32_t polling_us = 10;  ///< how long a call polls before it sleeps
};

/// Read once.
const Defaults& defaults();

}  // namespace softrnic::rsocket
