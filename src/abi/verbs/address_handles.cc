// Address handles, also from what a received datagram says of its sender.
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <netinet/ip.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"
#include "net/neighbour.h"
#include "wire/grh.h"

namespace softrnic::abi {
namespace {

Expected<ibv_ah*, Failure> create(ibv_pd* pd, const ibv_ah_attr* attributes) {
  if (auto given = check_given(pd, attributes); !given) return Unexpected{given.error()};
  auto made = rnic::AddressHandle::create(*Pd::of(pd)->impl, *attributes);
  if (!made) return Unexpected{made.error()};
  (*made)->context = pd->context;
  (*made)->pd = pd;
  (*made)->handle = Pd::of(pd)->opened->next_handle();
  return made->release();
}

std::uint16_t header_checksum(const iphdr& header) {
  std::uint16_t words[sizeof header / 2];
  std::memcpy(words, &header, sizeof words);
  std::uint32_t sum = 0;
  for (const std::uint16_t word : words) sum += word;
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~((sum & 0xffff) + (sum >> 16)));
}

/// The IPv4 header in the last 20 of the 40 bytes before a datagram, if that is what they are (IBTA
/// A17.4.5.2). An IPv6 header may look like one by chance: the checksum decides.
bool find_ipv4(const ibv_grh& grh, iphdr& header) {
  std::memcpy(&header, reinterpret_cast<const std::byte*>(&grh) + sizeof grh - sizeof header, sizeof header);
  const bool may_be_ipv6 = (be32toh(grh.version_tclass_flow) >> 28) == 6;
  if (!may_be_ipv6) return header.version == 4;
  if (header.version != 4 || header.ihl != 5) return false;
  iphdr unchecked = header;
  unchecked.check = 0;
  return header_checksum(unchecked) == header.check;
}

wire::Gid gid_of(const ibv_gid& gid) {
  wire::Gid out;
  std::memcpy(out.raw.data(), gid.raw, sizeof gid.raw);
  return out;
}

/// The index of our own GID that a datagram was sent to.
Expected<std::uint8_t, Failure> find_own_gid(const rnic::Context& context, const wire::Gid& gid) {
  const auto info = context.info();
  for (std::size_t i = 0; i < info->port.gids.size(); ++i)
    if (info->port.gids[i].gid == gid && !gid.is_zero()) return static_cast<std::uint8_t>(i);
  return rnic::refused(EINVAL, ReasonId::grh_not_ours);
}

Expected<void, Failure> answer_grh(const rnic::Context& context, const ibv_grh& grh, ibv_ah_attr& out) {
  iphdr ipv4;
  wire::Gid own = gid_of(grh.dgid);
  const std::uint32_t word = be32toh(grh.version_tclass_flow);
  if (find_ipv4(grh, ipv4)) {
    own = wire::Gid::from_ipv4_be(ipv4.daddr);
    const wire::Gid peer = wire::Gid::from_ipv4_be(ipv4.saddr);
    std::memcpy(out.grh.dgid.raw, peer.raw.data(), sizeof out.grh.dgid.raw);
    out.grh.hop_limit = ipv4.ttl;
    out.grh.traffic_class = ipv4.tos;
  } else if (word >> 28 == 6 && (grh.next_hdr == IPPROTO_UDP || grh.next_hdr == wire::kGrhNextHeader)) {
    out.grh.dgid = grh.sgid;
    out.grh.hop_limit = grh.hop_limit;
    out.grh.traffic_class = static_cast<std::uint8_t>(word >> 20);
  } else {
    return rnic::refused(EPROTONOSUPPORT, ReasonId::grh_unknown, word >> 28, grh.next_hdr);
  }
  if (own.is_multicast()) return rnic::refused(EINVAL, ReasonId::grh_not_ours);
  const auto index = find_own_gid(context, own);
  if (!index) return Unexpected{index.error()};
  out.grh.sgid_index = *index;
  return {};
}

Expected<void, Failure> init_from_completion(ibv_context* context, std::uint8_t port, const ibv_wc* wc,
                                             const ibv_grh* grh, ibv_ah_attr* out) {
  if (context == nullptr || wc == nullptr || out == nullptr) return null_argument();
  *out = {};
  out->dlid = wc->slid;
  out->sl = wc->sl;
  out->src_path_bits = wc->dlid_path_bits;
  out->port_num = port;
  if ((wc->wc_flags & IBV_WC_GRH) == 0) return {};
  if (grh == nullptr) return null_argument();
  out->is_global = 1;
  out->grh.flow_label = be32toh(grh->version_tclass_flow) & 0xfffff;
  return answer_grh(Context::of(context)->opened->context(), *grh, *out);
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_ah*, ibv_create_ah, (ibv_pd * pd, ibv_ah_attr* attributes)) {
  return pointer_call([&] { return alive(create(pd, attributes)); });
}

SOFTRNIC_EXPORT int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc, ibv_grh* grh,
                                        ibv_ah_attr* attributes) {
  return minus_one_call([&] { return init_from_completion(context, port, wc, grh, attributes); });
}

SOFTRNIC_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) {
  return pointer_call([&]() -> Expected<ibv_ah*, Failure> {
    if (auto given = check_given(pd); !given) return Unexpected{given.error()};
    ibv_ah_attr attributes;
    const auto done = init_from_completion(pd->context, port, wc, grh, &attributes);
    if (!done) return Unexpected{done.error()};
    return alive(create(pd, &attributes));
  });
}

SOFTRNIC_VERB(int, ibv_destroy_ah, (ibv_ah * ah)) {
  return errno_call([&] {
    return end_life(ah, [](ibv_ah* verbs) -> Expected<void, Failure> {
      const std::unique_ptr<rnic::AddressHandle> handle(handle_of(verbs));
      handle->destroy();
      return {};
    });
  });
}

// Returns a negative errno, unlike the verbs beside it.
SOFTRNIC_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes,
                                                uint8_t mac[ETHERNET_LL_SIZE], uint16_t* vlan) {
  return -errno_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || attributes == nullptr || mac == nullptr) return null_argument();
    const rnic::Context& device = Context::of(context)->opened->context();
    const auto source = device.gid(attributes->port_num, attributes->grh.sgid_index);
    if (!source) return Unexpected{source.error()};
    const auto found = net::resolve_neighbour(gid_of(attributes->grh.dgid), source->interface_index);
    if (!found) return rnic::refused(found.error());
    std::memcpy(mac, found->mac.data(), found->mac.size());
    if (vlan != nullptr) *vlan = found->vlan;
    return {};
  });
}
