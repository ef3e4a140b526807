#include "wire/headers.h"

namespace softrnic::wire {
namespace {

constexpr std::uint8_t bit_if(bool set, std::uint8_t bit) { return set ? bit : std::uint8_t{0}; }
constexpr std::uint8_t byte_at(const std::byte* p) { return std::to_integer<std::uint8_t>(*p); }
constexpr std::uint8_t low_bits(unsigned value, unsigned mask) {
  return static_cast<std::uint8_t>(value & mask);
}

Bth load_bth(const std::byte* p) {
  Bth bth;
  bth.opcode = static_cast<Opcode>(byte_at(p));
  const std::uint8_t flags = byte_at(p + 1);
  bth.solicited = (flags & 0x80) != 0;
  bth.migration_request = (flags & 0x40) != 0;
  bth.pad = low_bits(flags >> 4U, 3);
  bth.version = low_bits(flags, 0xf);
  bth.pkey = load_be16(p + 2);
  const std::uint8_t congestion = byte_at(p + 4);
  bth.fecn = (congestion & 0x80) != 0;
  bth.becn = (congestion & 0x40) != 0;
  bth.reserved6 = low_bits(congestion, 0x3f);
  bth.destination = Qpn(load_be24(p + 5));
  const std::uint8_t ack = byte_at(p + 8);
  bth.ack_request = (ack & 0x80) != 0;
  bth.reserved7 = low_bits(ack, 0x7f);
  bth.psn = load_be24(p + 9);
  return bth;
}

void store_bth(const Bth& bth, std::byte* p) {
  p[0] = static_cast<std::byte>(bth.opcode);
  p[1] = static_cast<std::byte>(bit_if(bth.solicited, 0x80) | bit_if(bth.migration_request, 0x40) |
                                (bth.pad & 3) << 4 | (bth.version & 0xf));
  store_be16(p + 2, bth.pkey);
  p[4] = static_cast<std::byte>(bit_if(bth.fecn, 0x80) | bit_if(bth.becn, 0x40) | (bth.reserved6 & 0x3f));
  store_be24(p + 5, bth.destination.value);
  p[8] = static_cast<std::byte>(bit_if(bth.ack_request, 0x80) | (bth.reserved7 & 0x7f));
  store_be24(p + 9, bth.psn);
}

// Loads the extension headers of the mask, in wire order, from p on. The caller has checked the length.
void load_extensions(std::uint16_t mask, const std::byte* p, Headers& h) {
  if ((mask & kDeth) != 0) {
    h.deth = {load_be32(p), Qpn(load_be24(p + 5)), byte_at(p + 4)};
    p += 8;
  }
  if ((mask & kXrceth) != 0) {
    h.xrc_reserved = byte_at(p);
    h.xrc_srqn = load_be24(p + 1);
    p += 4;
  }
  if ((mask & kFeth) != 0) {
    h.flush_selector = load_be32(p);
    p += 4;
  }
  if ((mask & kReth) != 0) {
    h.reth = {load_be64(p), MemoryKey(load_be32(p + 8)), load_be32(p + 12)};
    p += 16;
  }
  if ((mask & kAtomicEth) != 0) {
    h.atomic = {load_be64(p), MemoryKey(load_be32(p + 8)), load_be64(p + 12), load_be64(p + 20)};
    p += 28;
  }
  if ((mask & kAeth) != 0) {
    h.aeth = {byte_at(p), load_be24(p + 1)};
    p += 4;
  }
  if ((mask & kAtomicAckEth) != 0) {
    h.atomic_original = load_be64(p);
    p += 8;
  }
  if ((mask & kImmDt) != 0) {
    h.immediate = load_be32(p);
    p += 4;
  }
  if ((mask & kIeth) != 0) h.invalidate = MemoryKey(load_be32(p));
}

void store_reth(const Reth& reth, std::byte* p) {
  store_be64(p, reth.address);
  store_be32(p + 8, reth.key.value);
  store_be32(p + 12, reth.length);
}

void store_atomic(const AtomicEth& atomic, std::byte* p) {
  store_be64(p, atomic.address);
  store_be32(p + 8, atomic.key.value);
  store_be64(p + 12, atomic.swap_or_add);
  store_be64(p + 20, atomic.compare);
}

void store_extensions(std::uint16_t mask, const Headers& h, std::byte* p) {
  if ((mask & kDeth) != 0) {
    store_be32(p, h.deth.qkey);
    p[4] = static_cast<std::byte>(h.deth.reserved);
    store_be24(p + 5, h.deth.source.value);
    p += 8;
  }
  if ((mask & kXrceth) != 0) {
    p[0] = static_cast<std::byte>(h.xrc_reserved);
    store_be24(p + 1, h.xrc_srqn);
    p += 4;
  }
  if ((mask & kFeth) != 0) {
    store_be32(p, h.flush_selector);
    p += 4;
  }
  if ((mask & kReth) != 0) {
    store_reth(h.reth, p);
    p += 16;
  }
  if ((mask & kAtomicEth) != 0) {
    store_atomic(h.atomic, p);
    p += 28;
  }
  if ((mask & kAeth) != 0) {
    p[0] = static_cast<std::byte>(h.aeth.syndrome);
    store_be24(p + 1, h.aeth.msn);
    p += 4;
  }
  if ((mask & kAtomicAckEth) != 0) {
    store_be64(p, h.atomic_original);
    p += 8;
  }
  if ((mask & kImmDt) != 0) {
    store_be32(p, h.immediate);
    p += 4;
  }
  if ((mask & kIeth) != 0) store_be32(p, h.invalidate.value);
}

}  // namespace

Expected<Packet, ParseError> parse(Bytes bytes) {
  Packet packet;
  if (const auto parsed = parse_into(bytes, packet); !parsed) return Unexpected{parsed.error()};
  return packet;
}

Expected<void, ParseError> parse_into(Bytes bytes, Packet& packet) {
  if (bytes.size() < kBthBytes) return Unexpected{ParseError::too_short};
  // at each byte once: in a ring of packets their sender may change them
  packet.headers.bth = load_bth(bytes.data());
  packet.info = find_opcode(static_cast<std::uint8_t>(packet.headers.bth.opcode));
  if (packet.info == nullptr) return Unexpected{ParseError::unknown_opcode};
  if (packet.headers.bth.version != 0) return Unexpected{ParseError::bad_version};
  const std::size_t header_size = kBthBytes + header_bytes(packet.info->headers);
  if (bytes.size() < header_size) return Unexpected{ParseError::too_short};
  load_extensions(packet.info->headers, bytes.data() + kBthBytes, packet.headers);
  const std::size_t padded = bytes.size() - header_size;
  const std::size_t pad = packet.headers.bth.pad;
  if (padded % 4 != 0 || pad > padded) return Unexpected{ParseError::bad_pad};
  packet.payload = bytes.subspan(header_size, padded - pad);
  return {};
}

std::size_t encode(const Headers& headers, MutableBytes out) {
  const std::uint16_t mask = opcode_info(headers.bth.opcode).headers;
  store_bth(headers.bth, out.data());
  store_extensions(mask, headers, out.data() + kBthBytes);
  return kBthBytes + header_bytes(mask);
}

}  // namespace softrnic::wire
