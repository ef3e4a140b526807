// Whole packets of an InfiniBand link made from the opcode table, for tests: every field different from zero.
#pragma once

#include <vector>

#include "tests/support/synthetic.h"
#include "wire/infiniband_frame.h"

namespace softrnic::testing {

/// From LID 0x11 to LID 0x22 by VL 3 and SL 5; with a GRH from fe80::…:1 to fe80::…:2 when `global`.
inline wire::RouteHeaders sample_route(bool global) {
  wire::RouteHeaders route;
  route.local.vl = 3;
  route.local.sl = 5;
  route.local.slid = wire::Lid(0x11);
  route.local.dlid = wire::Lid(0x22);
  if (!global) return route;
  wire::Grh grh;
  grh.traffic_class = 0x2a;
  grh.flow_label = 0x54321;
  grh.hop_limit = 7;
  for (wire::Gid* gid : {&grh.sgid, &grh.dgid}) {
    gid->raw[0] = std::byte{0xfe};
    gid->raw[1] = std::byte{0x80};
    gid->raw[15] = gid == &grh.sgid ? std::byte{1} : std::byte{2};
  }
  route.global = grh;
  return route;
}

/// The frame that carries `headers` and `payload`: LRH to VCRC; empty where none can.
inline std::vector<std::byte> build_infiniband_frame(const wire::RouteHeaders& route,
                                                     const wire::Headers& headers, Bytes payload) {
  std::vector<std::byte> out(wire::infiniband_frame_bytes(route, headers.bth.opcode, payload.size()));
  const Bytes pieces[] = {payload};
  out.resize(wire::encode_infiniband_frame(route, headers, pieces, out));
  return out;
}

}  // namespace softrnic::testing
