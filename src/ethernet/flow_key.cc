#include "ethernet/flow_key.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ethernet/received_frame.h"

namespace softrnic::ethernet {
namespace {

// Types behind an Ethernet or GRE header.
constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;
constexpr std::uint16_t kTypeMpls = 0x8847;
constexpr std::uint16_t kTypeMplsMulticast = 0x8848;
constexpr std::uint16_t kTypeEthernet = 0x6558;

// Protocols behind an IP header (IANA).
constexpr std::uint8_t kHopByHop = 0, kIpInIp = 4, kTcpProtocol = 6, kUdpProtocol = 17, kIpv6InIp = 41,
                       kRouting = 43, kFragment = 44, kGreProtocol = 47, kEspProtocol = 50,
                       kAuthentication = 51, kDestinationOptions = 60;

constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::byte kVxlanHasVni{0x08};
constexpr int kMostTags = 4;
constexpr int kMostExtensions = 8;
constexpr int kMostLabels = 16;

bool is_vlan(std::uint16_t type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100; }

std::uint16_t raw16(const std::byte* p) {
  std::uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
std::uint32_t raw32(const std::byte* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

/// Goes through a frame from its beginning to as far as it makes sense.
class Parser {
 public:
  explicit Parser(Bytes frame) : begin_(frame.data()), left_(frame) {}

  ParsedFrame run() {
    ethernet();
    return out_;
  }

 private:
  /// The next bytes, without taking them; nullptr: there are not as many.
  const std::byte* look(std::size_t bytes) const { return left_.size() < bytes ? nullptr : left_.data(); }
  const std::byte* take(std::size_t bytes) {
    const std::byte* const at = look(bytes);
    if (at != nullptr) left_ = left_.subspan(bytes);
    return at;
  }
  HeaderFields& fields() { return out_.key.stack[inner_ ? 1 : 0]; }
  void found(std::uint32_t layer) { out_.layers |= inner_ ? layer << kInnerShift : layer; }
  /// What follows is the packet within the tunnel. False: this is one within a tunnel, and nobody asks for
  /// what is in it.
  bool enter_tunnel() { return !std::exchange(inner_, true); }

  void ethernet();
  void by_type(std::uint16_t type);
  void ipv4();
  void ipv6();
  void mpls();
  void by_protocol(std::uint8_t protocol);
  /// A header of TCP or UDP, which begin with the ports. False: it is cut.
  bool transport(std::uint32_t layer, std::size_t header_bytes);
  void udp();
  void vxlan();
  void gre();
  void esp();

  std::uint32_t place_of(const std::byte* at) const { return static_cast<std::uint32_t>(at - begin_); }

  const std::byte* const begin_;
  Bytes left_;
  bool inner_ = false;
  ParsedFrame out_;
};

void Parser::ethernet() {
  const std::byte* const at = take(kHeaderBytes);
  if (at == nullptr) return;
  found(kEthernet);
  HeaderFields& to = fields();
  std::copy_n(at, kMacBytes, to.destination_mac.begin());
  std::copy_n(at + kMacBytes, kMacBytes, to.source_mac.begin());
  const std::byte* type = at + kVlanTagAt;
  for (int tags = 0; is_vlan(load_be16(type)); ++tags) {
    const std::byte* const tag = take(kVlanTagBytes);
    if (tag == nullptr || tags == kMostTags) return;
    if (tags == 0) {
      found(kVlan);
      to.vlan = raw16(tag);
    }
    type = tag + 2;
  }
  to.ether_type = raw16(type);
  by_type(load_be16(type));
}

void Parser::by_type(std::uint16_t type) {
  if (type == kTypeIpv4) return ipv4();
  if (type == kTypeIpv6) return ipv6();
  if (type == kTypeMpls || type == kTypeMplsMulticast) return mpls();
}

// RFC 791.
void Parser::ipv4() {
  constexpr std::size_t kLeast = 20;
  const std::byte* const first = look(kLeast);
  if (first == nullptr || (first[0] >> 4) != std::byte{4}) return;
  const auto length = std::to_integer<std::size_t>(first[0] & std::byte{0xf}) * 4;
  if (length < kLeast || take(length) == nullptr) return;
  found(kIpv4);
  if (!inner_) out_.network_at = place_of(first);
  HeaderFields& to = fields();
  std::copy_n(first + 12, 4, to.source_ip.begin());
  std::copy_n(first + 16, 4, to.destination_ip.begin());
  to.traffic_class = std::to_integer<std::uint8_t>(first[1]);
  to.hop_limit = std::to_integer<std::uint8_t>(first[8]);
  to.protocol = std::to_integer<std::uint8_t>(first[9]);
  const std::uint16_t fragment = load_be16(first + 6);
  if ((fragment & 0x4000) != 0) to.ip_flags |= kIpv4DontFragmentBit;
  if ((fragment & 0x2000) != 0) to.ip_flags |= kIpv4MoreFragmentsBit;
  if ((fragment & 0x1fff) == 0) by_protocol(to.protocol);
}

// RFC 8200.
void Parser::ipv6() {
  constexpr std::size_t kBytes = 40;
  const std::byte* const first = look(kBytes);
  if (first == nullptr || (first[0] >> 4) != std::byte{6}) return;
  take(kBytes);
  found(kIpv6);
  if (!inner_) out_.network_at = place_of(first);
  HeaderFields& to = fields();
  std::copy_n(first + 8, 16, to.source_ip.begin());
  std::copy_n(first + 24, 16, to.destination_ip.begin());
  const std::uint32_t start = load_be32(first);
  to.traffic_class = static_cast<std::uint8_t>(start >> 20);
  to.flow_label = __builtin_bswap32(start & 0xfffff);
  to.hop_limit = std::to_integer<std::uint8_t>(first[7]);
  to.protocol = std::to_integer<std::uint8_t>(first[6]);
  for (int extensions = 0; extensions < kMostExtensions; ++extensions) {
    const std::uint8_t next = to.protocol;
    const bool fragment = next == kFragment;
    if (!fragment && next != kHopByHop && next != kRouting && next != kDestinationOptions &&
        next != kAuthentication)
      return by_protocol(next);
    const std::byte* const header = look(8);
    if (header == nullptr) return;
    const auto units = std::to_integer<std::size_t>(header[1]);
    const std::size_t length = fragment ? 8 : next == kAuthentication ? (units + 2) * 4 : (units + 1) * 8;
    if (take(length) == nullptr) return;
    to.protocol = std::to_integer<std::uint8_t>(header[0]);
    if (fragment && (load_be16(header + 2) & 0xfff8) != 0) return;
  }
}

// RFC 3032: what is below the labels is told by its first bits alone.
void Parser::mpls() {
  const std::byte* entry = take(4);
  if (entry == nullptr) return;
  found(kMpls);
  fields().mpls_label = raw32(entry);
  for (int labels = 1; (entry[2] & std::byte{1}) == std::byte{0}; ++labels) {
    entry = take(4);
    if (entry == nullptr || labels == kMostLabels) return;
  }
  const std::byte* const packet = look(1);
  if (packet == nullptr || !enter_tunnel()) return;
  if ((packet[0] >> 4) == std::byte{4}) return ipv4();
  if ((packet[0] >> 4) == std::byte{6}) return ipv6();
}

void Parser::by_protocol(std::uint8_t protocol) {
  switch (protocol) {
    case kTcpProtocol:
      transport(kTcp, 20);
      return;
    case kUdpProtocol:
      return udp();
    case kEspProtocol:
      return esp();
    case kGreProtocol:
      return gre();
    case kIpInIp:
      if (enter_tunnel()) ipv4();
      return;
    case kIpv6InIp:
      if (enter_tunnel()) ipv6();
      return;
    default:
      return;
  }
}

bool Parser::transport(std::uint32_t layer, std::size_t header_bytes) {
  const std::byte* const at = take(header_bytes);
  if (at == nullptr) return false;
  found(layer);
  if (!inner_) out_.transport_at = place_of(at);
  fields().source_port = raw16(at);
  fields().destination_port = raw16(at + 2);
  return true;
}

void Parser::udp() {
  const bool to_vxlan = transport(kUdp, 8) && fields().destination_port == __builtin_bswap16(kVxlanPort);
  if (to_vxlan && !inner_) vxlan();
}

// RFC 7348.
void Parser::vxlan() {
  const std::byte* const at = take(8);
  if (at == nullptr || (at[0] & kVxlanHasVni) == std::byte{0}) return;
  found(kVxlan);
  out_.key.tunnel_id = __builtin_bswap32(load_be24(at + 4));
  enter_tunnel();
  ethernet();
}

// RFC 2784 and 2890: checksum, key and sequence number are there as its first bits say.
void Parser::gre() {
  const std::byte* const at = take(4);
  if (at == nullptr || inner_) return;
  const std::uint16_t flags = load_be16(at);
  const std::uint16_t type = load_be16(at + 2);
  const bool has_key = (flags & 0x2000) != 0;
  if ((flags & 0x7) == 0) {
    if ((flags & 0x8000) != 0 && take(4) == nullptr) return;
    const std::byte* const key = has_key ? take(4) : nullptr;
    if (has_key && key == nullptr) return;
    if (key != nullptr) out_.key.gre_key = raw32(key);
    if ((flags & 0x1000) != 0 && take(4) == nullptr) return;
  }
  found(kGre);
  out_.key.gre_flags = raw16(at);
  out_.key.gre_protocol = raw16(at + 2);
  if ((flags & 0x7) != 0) return;  // another version: what is behind it, who knows
  enter_tunnel();
  if (type == kTypeEthernet) return ethernet();
  by_type(type);
}

// RFC 4303.
void Parser::esp() {
  const std::byte* const at = take(8);
  if (at == nullptr) return;
  found(kEsp);
  fields().esp_spi = raw32(at);
  fields().esp_sequence = raw32(at + 4);
}

}  // namespace

ParsedFrame parse(Bytes frame) { return Parser(frame).run(); }

}  // namespace softrnic::ethernet
