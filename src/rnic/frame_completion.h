// What a receive queue of raw packets, a queue pair's or a work queue, does with a frame and tells of it.
#pragma once

#include <infiniband/verbs.h>

#include "ethernet/checksum.h"
#include "ethernet/flow_key.h"
#include "ethernet/received_frame.h"
#include "transport/ib/frame_placement.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

/// The frame as it is to be placed; `strips_vlan`: without its first VLAN tag.
inline ib::InboundFrame inbound(const ethernet::ReceivedFrame& frame, const ethernet::ParsedFrame& parsed,
                                bool strips_vlan, std::uint32_t flow_tag) {
  ib::InboundFrame in{.bytes = frame.bytes, .flow_tag = flow_tag};
  in.checksums_ok = frame.verified || ethernet::checksums_ok(frame.bytes, parsed);
  if (strips_vlan && parsed.has(ethernet::kVlan)) {
    in.vlan = __builtin_bswap16(parsed.key.stack[0].vlan);
    in.cut_at = ethernet::kVlanTagAt;
    in.cut = ethernet::kVlanTagBytes;
  }
  return in;
}

// struct ibv_wc has no fields for them: they go where a raw packet has nothing, and ibv_wc_read_flow_tag()
// and ibv_wc_read_cvlan() find them.
inline void describe_frame(const ib::RecvDone& done, ibv_wc& wc) {
  wc.imm_data = done.flow_tag;
  wc.pkey_index = done.vlan;
  if (done.checksums_ok) wc.wc_flags |= IBV_WC_IP_CSUM_OK;
}
inline std::uint32_t flow_tag_of(const ibv_wc& wc) {
  return (wc.wc_flags & IBV_WC_WITH_IMM) == 0 ? wc.imm_data : 0;
}
inline std::uint16_t vlan_of(const ibv_wc& wc) { return wc.pkey_index; }

}  // namespace softrnic::rnic
