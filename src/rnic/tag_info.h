// What ibv_wc_read_tm_info tells of a completion: tag and app_ctx of the message's TMH.
//
// It travels in the fields of ibv_wc that a receive of RC does not use: src_qp, pkey_index and slid, which
// are of datagrams (IBTA 11.4.2.1), and vendor_err, which is for failures. So no completion is larger for the
// few that have it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softrnic::rnic {

struct TagInfo {
  std::uint64_t tag = 0;
  std::uint32_t app_ctx = 0;

  /// Whether a completion has it: those that tell of a match. The others have zeros, as mlx5's do.
  static constexpr bool in(const ibv_wc& wc) {
    const bool matched = wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_TM_RNDV_INCOMPLETE;
    return wc.opcode == IBV_WC_TM_RECV && matched && (wc.wc_flags & IBV_WC_TM_MATCH) != 0;
  }
  static TagInfo of(const ibv_wc& wc) {
    if (!in(wc)) return {};
    return {std::uint64_t{wc.src_qp} << 32 | std::uint32_t{wc.pkey_index} << 16 | wc.slid, wc.vendor_err};
  }
  void put(ibv_wc& wc) const {
    wc.src_qp = static_cast<std::uint32_t>(tag >> 32);
    wc.pkey_index = static_cast<std::uint16_t>(tag >> 16);
    wc.slid = static_cast<std::uint16_t>(tag);
    wc.vendor_err = app_ctx;
  }
};

}  // namespace softrnic::rnic
