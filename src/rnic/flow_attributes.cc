#include "rnic/flow_attributes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/reason_id.h"
#include "rnic/limits.h"

namespace softrnic::rnic {
namespace {

using ethernet::FlowKey;
using ethernet::FlowMatch;
using ethernet::HeaderFields;

constexpr std::uint8_t kMostSpecs = 10;  ///< as many as ib_uverbs takes
constexpr std::uint32_t kKnownFlags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;

template <typename... Figures>
Unexpected<Failure> no(int error, ReasonId id, Figures... figures) {
  return Unexpected{refuse(error, id, figures...)};
}

/// A number that a program has put into an enumeration, whatever it is.
template <typename Enumeration>
std::uint32_t number_in(const Enumeration& field) {
  static_assert(sizeof field == sizeof(std::uint32_t));
  std::uint32_t number;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

/// Where a header's fields are put: values and mask alike.
struct Place {
  FlowMatch& match;
  std::size_t stack;  ///< 0 outer, 1 inner

  void needs(std::uint32_t layer) const {
    match.layers |= stack == 0 ? layer : layer << ethernet::kInnerShift;
  }
  template <typename Field, typename From>
  void put(Field HeaderFields::*field, const From& value, const From& mask) const {
    static_assert(sizeof(From) <= sizeof(Field));
    std::memcpy(&(match.value.stack[stack].*field), &value, sizeof value);
    std::memcpy(&(match.mask.stack[stack].*field), &mask, sizeof mask);
  }
  template <typename Field>
  void put_tunnel(Field FlowKey::*field, const Field& value, const Field& mask) const {
    match.value.*field = value;
    match.mask.*field = mask;
  }
};

void add(const ibv_flow_spec_eth& spec, const Place& place) {
  place.needs(spec.mask.vlan_tag != 0 ? ethernet::kEthernet | ethernet::kVlan : ethernet::kEthernet);
  place.put(&HeaderFields::destination_mac, spec.val.dst_mac, spec.mask.dst_mac);
  place.put(&HeaderFields::source_mac, spec.val.src_mac, spec.mask.src_mac);
  place.put(&HeaderFields::ether_type, spec.val.ether_type, spec.mask.ether_type);
  place.put(&HeaderFields::vlan, spec.val.vlan_tag, spec.mask.vlan_tag);
}

void add(const ibv_flow_spec_ipv4& spec, const Place& place) {
  place.needs(ethernet::kIpv4);
  place.put(&HeaderFields::source_ip, spec.val.src_ip, spec.mask.src_ip);
  place.put(&HeaderFields::destination_ip, spec.val.dst_ip, spec.mask.dst_ip);
}

void add(const ibv_flow_spec_ipv4_ext& spec, const Place& place) {
  place.needs(ethernet::kIpv4);
  place.put(&HeaderFields::source_ip, spec.val.src_ip, spec.mask.src_ip);
  place.put(&HeaderFields::destination_ip, spec.val.dst_ip, spec.mask.dst_ip);
  place.put(&HeaderFields::protocol, spec.val.proto, spec.mask.proto);
  place.put(&HeaderFields::traffic_class, spec.val.tos, spec.mask.tos);
  place.put(&HeaderFields::hop_limit, spec.val.ttl, spec.mask.ttl);
  place.put(&HeaderFields::ip_flags, spec.val.flags, spec.mask.flags);
}

void add(const ibv_flow_spec_ipv6& spec, const Place& place) {
  place.needs(ethernet::kIpv6);
  place.put(&HeaderFields::source_ip, spec.val.src_ip, spec.mask.src_ip);
  place.put(&HeaderFields::destination_ip, spec.val.dst_ip, spec.mask.dst_ip);
  place.put(&HeaderFields::flow_label, spec.val.flow_label, spec.mask.flow_label);
  place.put(&HeaderFields::protocol, spec.val.next_hdr, spec.mask.next_hdr);
  place.put(&HeaderFields::traffic_class, spec.val.traffic_class, spec.mask.traffic_class);
  place.put(&HeaderFields::hop_limit, spec.val.hop_limit, spec.mask.hop_limit);
}

void add(const ibv_flow_spec_tcp_udp& spec, const Place& place) {
  place.needs((spec.type & ~IBV_FLOW_SPEC_INNER) == IBV_FLOW_SPEC_TCP ? ethernet::kTcp : ethernet::kUdp);
  place.put(&HeaderFields::source_port, spec.val.src_port, spec.mask.src_port);
  place.put(&HeaderFields::destination_port, spec.val.dst_port, spec.mask.dst_port);
}

void add(const ibv_flow_spec_esp& spec, const Place& place) {
  place.needs(ethernet::kEsp);
  place.put(&HeaderFields::esp_spi, spec.val.spi, spec.mask.spi);
  place.put(&HeaderFields::esp_sequence, spec.val.seq, spec.mask.seq);
}

void add(const ibv_flow_spec_mpls& spec, const Place& place) {
  place.needs(ethernet::kMpls);
  place.put(&HeaderFields::mpls_label, spec.val.label, spec.mask.label);
}

void add(const ibv_flow_spec_gre& spec, const Place& place) {
  place.match.layers |= ethernet::kGre;
  place.put_tunnel(&FlowKey::gre_flags, spec.val.c_ks_res0_ver, spec.mask.c_ks_res0_ver);
  place.put_tunnel(&FlowKey::gre_protocol, spec.val.protocol, spec.mask.protocol);
  place.put_tunnel(&FlowKey::gre_key, spec.val.key, spec.mask.key);
}

void add(const ibv_flow_spec_tunnel& spec, const Place& place) {
  place.match.layers |= ethernet::kVxlan;
  place.put_tunnel(&FlowKey::tunnel_id, spec.val.tunnel_id, spec.mask.tunnel_id);
}

/// A header that a rule can be about. Those with `stacked` can be within a tunnel, too.
struct HeaderRow {
  std::uint32_t type;
  std::size_t size;
  bool stacked;
  std::uint32_t kind;  ///< a rule has one of each kind at most
  void (*add)(const ibv_flow_spec& spec, const Place& place);
};
constexpr std::uint32_t kLink = 1, kNetwork = 2, kTransport = 4, kLabel = 8, kTunnel = 16;
constexpr HeaderRow kHeaders[] = {
    {IBV_FLOW_SPEC_ETH, sizeof(ibv_flow_spec_eth), true, kLink,
     [](auto& spec, auto& to) { add(spec.eth, to); }},
    {IBV_FLOW_SPEC_IPV4, sizeof(ibv_flow_spec_ipv4), true, kNetwork,
     [](auto& spec, auto& to) { add(spec.ipv4, to); }},
    {IBV_FLOW_SPEC_IPV4_EXT, sizeof(ibv_flow_spec_ipv4_ext), true, kNetwork,
     [](auto& spec, auto& to) { add(spec.ipv4_ext, to); }},
    {IBV_FLOW_SPEC_IPV6, sizeof(ibv_flow_spec_ipv6), true, kNetwork,
     [](auto& spec, auto& to) { add(spec.ipv6, to); }},
    {IBV_FLOW_SPEC_TCP, sizeof(ibv_flow_spec_tcp_udp), true, kTransport,
     [](auto& spec, auto& to) { add(spec.tcp_udp, to); }},
    {IBV_FLOW_SPEC_UDP, sizeof(ibv_flow_spec_tcp_udp), true, kTransport,
     [](auto& spec, auto& to) { add(spec.tcp_udp, to); }},
    {IBV_FLOW_SPEC_ESP, sizeof(ibv_flow_spec_esp), true, kTransport,
     [](auto& spec, auto& to) { add(spec.esp, to); }},
    {IBV_FLOW_SPEC_MPLS, sizeof(ibv_flow_spec_mpls), true, kLabel,
     [](auto& spec, auto& to) { add(spec.mpls, to); }},
    {IBV_FLOW_SPEC_GRE, sizeof(ibv_flow_spec_gre), false, kTunnel,
     [](auto& spec, auto& to) { add(spec.gre, to); }},
    {IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(ibv_flow_spec_tunnel), false, kTunnel,
     [](auto& spec, auto& to) { add(spec.tunnel, to); }},
};

class RequestReader {
 public:
  explicit RequestReader(const ibv_flow_attr& attributes) : attributes_(attributes) {}
  Expected<FlowRequest, Failure> read();

 private:
  Expected<void, Failure> check() const;
  Expected<void, Failure> take(const ibv_flow_spec& spec);
  Expected<void, Failure> take_header(const ibv_flow_spec& spec, const HeaderRow& row);
  Expected<void, Failure> take_action(const ibv_flow_spec& spec);
  Unexpected<Failure> bad_size(const ibv_flow_spec& spec, std::size_t right) const {
    return no(EINVAL, ReasonId::flow_spec_size, index_, number_in(spec.hdr.type), spec.hdr.size, right);
  }

  const ibv_flow_attr& attributes_;
  unsigned index_ = 0;       ///< of the specification at hand
  std::uint32_t kinds_ = 0;  ///< of headers that were seen, those within a tunnel 16 bits higher
  std::uint32_t actions_ = 0;
  FlowRequest request_;
};

Expected<void, Failure> RequestReader::check() const {
  const ibv_flow_attr& a = attributes_;
  const bool dont_trap = (a.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
  if (a.comp_mask != 0) return no(EINVAL, ReasonId::bad_comp_mask, a.comp_mask);
  const std::uint32_t type = number_in(a.type);
  if (type > IBV_FLOW_ATTR_SNIFFER || (a.flags & ~kKnownFlags) != 0 || a.num_of_specs > kMostSpecs ||
      (dont_trap && type != IBV_FLOW_ATTR_NORMAL))
    return no(EINVAL, ReasonId::flow_attributes, type, a.flags, a.num_of_specs);
  if (a.port != limits::kPorts) return no(EINVAL, ReasonId::bad_port, a.port);
  if ((a.flags & IBV_FLOW_ATTR_FLAGS_EGRESS) != 0) return no(EOPNOTSUPP, ReasonId::flow_egress);
  return {};
}

Expected<FlowRequest, Failure> RequestReader::read() {
  if (auto ok = check(); !ok) return Unexpected{ok.error()};
  constexpr ethernet::RuleKind kKinds[] = {ethernet::RuleKind::normal, ethernet::RuleKind::all_default,
                                           ethernet::RuleKind::group_default, ethernet::RuleKind::sniffer};
  ethernet::FlowRule& rule = request_.rule;
  rule.kind = kKinds[attributes_.type];
  rule.priority = attributes_.priority;
  rule.dont_trap = (attributes_.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
  const auto* at = reinterpret_cast<const std::byte*>(&attributes_ + 1);
  for (; index_ < attributes_.num_of_specs; ++index_) {
    // Specifications follow each other without a gap, so that they may be aligned for nothing.
    ibv_flow_spec spec{};
    std::memcpy(&spec, at, sizeof spec.hdr);
    const std::size_t size = spec.hdr.size;
    std::memcpy(&spec, at, std::min(size, sizeof spec));
    if (auto ok = take(spec); !ok) return Unexpected{ok.error()};
    at += size;
  }
  rule.match.prepare();
  return request_;
}

Expected<void, Failure> RequestReader::take(const ibv_flow_spec& spec) {
  const std::uint32_t type = number_in(spec.hdr.type);
  if (type >= IBV_FLOW_SPEC_ACTION_TAG) return take_action(spec);
  for (const HeaderRow& row : kHeaders) {
    const bool inner = (type & IBV_FLOW_SPEC_INNER) != 0;
    if (row.type == (type & ~std::uint32_t{IBV_FLOW_SPEC_INNER}) && (row.stacked || !inner))
      return take_header(spec, row);
  }
  return no(EINVAL, ReasonId::flow_spec_type, index_, type);
}

Expected<void, Failure> RequestReader::take_header(const ibv_flow_spec& spec, const HeaderRow& row) {
  if (spec.hdr.size != row.size) return bad_size(spec, row.size);
  // What the other kinds of rules take is not for the program to say.
  if (attributes_.type != IBV_FLOW_ATTR_NORMAL)
    return no(EINVAL, ReasonId::flow_spec_type, index_, number_in(spec.hdr.type));
  const std::size_t stack = (number_in(spec.hdr.type) & IBV_FLOW_SPEC_INNER) != 0 ? 1 : 0;
  const std::uint32_t kind = row.kind << (16 * stack);
  if ((kinds_ & kind) != 0) return no(EINVAL, ReasonId::flow_spec_repeated, index_, number_in(spec.hdr.type));
  kinds_ |= kind;
  row.add(spec, {request_.rule.match, stack});
  return {};
}

Expected<void, Failure> RequestReader::take_action(const ibv_flow_spec& spec) {
  const std::uint32_t type = number_in(spec.hdr.type);
  if (type == IBV_FLOW_SPEC_ACTION_HANDLE) return no(EOPNOTSUPP, ReasonId::flow_action_handle);
  if (type > IBV_FLOW_SPEC_ACTION_COUNT) return no(EINVAL, ReasonId::flow_spec_type, index_, type);
  const std::size_t size = type == IBV_FLOW_SPEC_ACTION_TAG    ? sizeof spec.flow_tag
                           : type == IBV_FLOW_SPEC_ACTION_DROP ? sizeof spec.drop
                                                               : sizeof spec.flow_count;
  if (spec.hdr.size != size) return bad_size(spec, size);
  const std::uint32_t bit = 1U << (type - IBV_FLOW_SPEC_ACTION_TAG);
  if ((actions_ & bit) != 0) return no(EINVAL, ReasonId::flow_spec_repeated, index_, type);
  actions_ |= bit;
  if (type == IBV_FLOW_SPEC_ACTION_TAG) request_.rule.tag = spec.flow_tag.tag_id;
  if (type == IBV_FLOW_SPEC_ACTION_DROP) request_.rule.drop = true;
  if (type == IBV_FLOW_SPEC_ACTION_COUNT) {
    if (spec.flow_count.counters == nullptr) return no(EINVAL, ReasonId::null_argument);
    request_.counters = spec.flow_count.counters;
  }
  return {};
}

}  // namespace

Expected<FlowRequest, Failure> flow_request(const ibv_flow_attr& attributes) {
  return RequestReader(attributes).read();
}

}  // namespace softrnic::rnic
