// What a program's buffer says: umad_set_addr, umad_get_mad and their kin, which ask nobody.
#include "abi/umad/buffers.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "abi/export.h"

namespace softrnic::umad {
namespace {

std::atomic<int> debug{0};

ib_user_mad& in(void* umad) { return *static_cast<ib_user_mad*>(umad); }

// To the letter as rdma-core's (IBWARN): scripts look for it.
void dump_address(const ib_mad_addr& address) {
  char gid[2 * sizeof address.gid + 1];
  for (std::size_t i = 0; i < sizeof address.gid; ++i)
    std::snprintf(&gid[2 * i], 3, "%02x", static_cast<unsigned>(address.gid[i]));
  std::fprintf(stderr,
               "ibwarn: [%d] umad_addr_dump: qpn %d qkey 0x%x lid %u sl %d\n"
               "grh_present %d gid_index %d hop_limit %d traffic_class %d flow_label 0x%x pkey_index 0x%x\n"
               "Gid 0x%s\n",
               getpid(), static_cast<int>(__builtin_bswap32(address.qpn)), __builtin_bswap32(address.qkey),
               static_cast<unsigned>(__builtin_bswap16(address.lid)), address.sl, address.grh_present,
               address.gid_index, address.hop_limit, address.traffic_class, address.flow_label,
               static_cast<unsigned>(address.pkey_index), gid);
}

}  // namespace

int debug_level() { return debug.load(std::memory_order_relaxed); }

void dump(const ib_user_mad& mad) {
  std::fprintf(stderr, "ibwarn: [%d] umad_dump: agent id %d status %x timeout %d\n", getpid(),
               static_cast<int>(mad.agent_id), mad.status, static_cast<int>(mad.timeout_ms));
  dump_address(mad.addr);
}

}  // namespace softrnic::umad

using namespace softrnic::umad;

SOFTRNIC_EXPORT void* umad_get_mad(void* umad) { return &in(umad) + 1; }
SOFTRNIC_EXPORT std::size_t umad_size() { return sizeof(ib_user_mad); }
SOFTRNIC_EXPORT int umad_status(void* umad) { return static_cast<int>(in(umad).status); }
SOFTRNIC_EXPORT ib_mad_addr* umad_get_mad_addr(void* umad) { return &in(umad).addr; }

/// The flow label comes in host order. No address: no GRH.
SOFTRNIC_EXPORT int umad_set_grh(void* umad, void* mad_addr) {
  ib_mad_addr& address = in(umad).addr;
  address.grh_present = mad_addr != nullptr ? 1 : 0;
  if (mad_addr == nullptr) return 0;
  const auto& given = *static_cast<const ib_mad_addr*>(mad_addr);
  std::memmove(address.gid, given.gid, sizeof address.gid);
  address.flow_label = __builtin_bswap32(given.flow_label);
  address.hop_limit = given.hop_limit;
  address.traffic_class = given.traffic_class;
  return 0;
}

SOFTRNIC_EXPORT int umad_set_pkey(void* umad, int pkey_index) {
  in(umad).addr.pkey_index = static_cast<std::uint16_t>(pkey_index);
  return 0;
}
SOFTRNIC_EXPORT int umad_get_pkey(void* umad) { return in(umad).addr.pkey_index; }

SOFTRNIC_EXPORT int umad_set_addr_net(void* umad, std::uint16_t dlid, std::uint32_t dqp, int sl,
                                      std::uint32_t qkey) {
  ib_mad_addr& address = in(umad).addr;
  address.qpn = dqp;
  address.lid = dlid;
  address.qkey = qkey;
  address.sl = static_cast<std::uint8_t>(sl);
  return 0;
}

SOFTRNIC_EXPORT int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
  return umad_set_addr_net(umad, __builtin_bswap16(static_cast<std::uint16_t>(dlid)),
                           __builtin_bswap32(static_cast<std::uint32_t>(dqp)), sl,
                           __builtin_bswap32(static_cast<std::uint32_t>(qkey)));
}

SOFTRNIC_EXPORT int umad_debug(int level) {
  if (level >= 0) debug.store(level, std::memory_order_relaxed);
  return debug_level();
}

SOFTRNIC_EXPORT void umad_addr_dump(ib_mad_addr* addr) { dump_address(*addr); }
SOFTRNIC_EXPORT void umad_dump(void* umad) { dump(in(umad)); }
