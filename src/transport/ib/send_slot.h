// What a send queue is made with, and a place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

/// Sizes fixed when the QP is created.
struct Capacity {
  std::uint32_t send_wqes = 1;
  std::uint16_t send_sges = 1;
  std::uint32_t inline_bytes = 0;
  std::uint16_t header_bytes = 0;  ///< raw packets: of a TSO
  /// Of send_queue_bytes(), aligned for max_align_t, for as long as the endpoint lives; nullptr: its own.
  std::byte* send_queue = nullptr;
};

/// What the send queue of such an endpoint takes.
std::size_t send_queue_bytes(const Capacity& capacity);

/// A place in the send queue that is being filled: a WQE and room for its SGEs or its inline bytes.
struct SendSlot {
  SendWqe* wqe = nullptr;  ///< nullptr: the send queue is full
  std::span<Sge> sges;
  MutableBytes inline_data;
  MutableBytes header;
};

}  // namespace softrnic::ib
