// Placing an Ethernet frame into a posted receive: for queue pairs of raw packets and for work queues.
#pragma once

#include "transport/ib/host.h"

namespace softrnic::ib {

/// A frame for one queue.
struct InboundFrame {
  Bytes bytes;  ///< without FCS
  std::uint32_t flow_tag = 0;
  std::uint16_t vlan = 0;     ///< TCI of the tag that was taken out; 0: none was
  std::size_t cut_at = 0;     ///< where it stood
  std::size_t cut = 0;        ///< its bytes, which are not placed; 0: all are
  bool checksums_ok = false;  ///< those of its IP and TCP or UDP headers
};

/// What keeps a receive that was taken for a frame which did not fit, for the next one.
class FramePlacement {
 public:
  /// Places it and completes the receive. A frame that finds no receive, or is longer than it, is dropped,
  /// counted and explained. False: its memory is not to be had, and the receive has been completed with an
  /// error.
  bool receive(Host& host, const InboundFrame& frame);
  /// Completes the receive that is kept as flushed.
  void flush(Host& host);
  /// Forgets it.
  void reset() { receive_ = nullptr; }

 private:
  Expected<void, Reason> place(Host& host, const InboundFrame& frame) const;

  const RecvWqe* receive_ = nullptr;
};

}  // namespace softrnic::ib
