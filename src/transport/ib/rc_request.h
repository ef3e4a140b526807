// The request packets of one RC work request: which part of its message each stands for, what it takes of a
// window, and what it says (IBTA 9.4, 9.7.2).
//
// A work request that has begun has the PSNs [first, end). Those of a READ are the PSNs of its responses; it
// is asked for in chunks, and one request packet asks for what is left of one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/ib/endpoint_context.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/send_queue.h"
#include "transport/ib/sge_list.h"

namespace softrnic::ib {

inline constexpr std::uint32_t kLargestChunk = 1U << 20;  ///< packets; well inside the PSN validity window

/// Of a work request, when it begins.
struct RequestExtent {
  std::uint32_t packets = 1;            ///< PSNs that it takes
  std::uint32_t chunk = kLargestChunk;  ///< READ: response packets that one request asks for
};
RequestExtent extent_of(const SendWqe& wqe, const EndpointContext& context);

/// Where in its message the packet `psn` begins.
inline std::uint32_t offset_of(const SendEntry& entry, Psn psn, std::uint32_t mtu) {
  const std::uint64_t offset = (psn - entry.first) * mtu;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, entry.wqe.length));
}

/// What the packets [from, stop) of a message, or of its READ responses, take up on their way.
inline std::uint32_t cost_of(const SendEntry& entry, Psn from, Psn stop, std::uint32_t mtu) {
  return offset_of(entry, stop, mtu) - offset_of(entry, from, mtu) +
         static_cast<std::uint32_t>(stop - from) * kPacketOverhead;
}

/// A READ is asked for in pieces that begin at multiples of `chunk` packets. A re-request never crosses such
/// a border, so that the responder finds it to be a part of one request it knows (IBTA 9.7.5.1.4).
inline Psn chunk_end(const SendEntry& entry, Psn psn) {
  const std::uint64_t packet = psn - entry.first;
  return std::min(entry.end, entry.first + (packet / entry.chunk + 1) * entry.chunk);
}

/// Where the packet that begins at `psn` ends: one further, or as far as the path lets it go.
inline Psn packet_end(const SendEntry& entry, Psn psn, const EndpointContext& context) {
  if (entry.wqe.op == SendOp::read) return chunk_end(entry, psn);
  if (context.window == nullptr || is_answered(entry.wqe.op)) return psn + 1;
  return std::min(entry.end, psn + context.window->packets_at_once(context.attributes.path_mtu));
}

/// Makes the packet [psn, stop); whether it requests an ACK is decided elsewhere. Error: why an lkey does not
/// allow it.
Expected<void, Reason> build_request(const EndpointContext& context, const SendQueue& queue,
                                     const SendEntry& entry, Psn psn, Psn stop, SgeCursor& cursor,
                                     TxPacket& out);

}  // namespace softrnic::ib
