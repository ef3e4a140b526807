#include "wire/headers.h"

#include "wire/fields.h"

namespace softrnic::wire {
namespace {

constexpr std::uint8_t bit_if(bool set, std::uint8_t bit) { return set ? bit : std::uint8_t{0}; }
constexpr std::uint8_t low_bits(unsigned value, unsigned mask) {
  return static_cast<std::uint8_t>(value & mask);
}

Bth load_bth(const std::byte* p) {
  Bth bth;
  bth.opcode = static_cast<Opcode>(field::Bth::Opcode::load(p));
  const std::uint8_t flags = field::Bth::Flags::load(p);
  bth.solicited = (flags & 0x80) != 0;
  bth.migration_request = (flags & 0x40) != 0;
  bth.pad = low_bits(flags >> 4U, 3);
  bth.version = low_bits(flags, 0xf);
  bth.pkey = field::Bth::Pkey::load(p);
  const std::uint8_t congestion = field::Bth::Congestion::load(p);
  bth.fecn = (congestion & 0x80) != 0;
  bth.becn = (congestion & 0x40) != 0;
  bth.reserved6 = low_bits(congestion, 0x3f);
  bth.destination = Qpn(field::Bth::Destination::load(p));
  const std::uint8_t ack = field::Bth::AckRequest::load(p);
  bth.ack_request = (ack & 0x80) != 0;
  bth.reserved7 = low_bits(ack, 0x7f);
  bth.psn = field::Bth::Psn::load(p);
  return bth;
}

void store_bth(const Bth& bth, std::byte* p) {
  using Fields = field::Bth;
  Fields::Opcode::store(p, static_cast<std::uint8_t>(bth.opcode));
  Fields::Flags::store(
      p, static_cast<std::uint8_t>(bit_if(bth.solicited, 0x80) | bit_if(bth.migration_request, 0x40) |
                                   (bth.pad & 3) << 4 | (bth.version & 0xf)));
  Fields::Pkey::store(p, bth.pkey);
  Fields::Congestion::store(
      p, low_bits(bit_if(bth.fecn, 0x80) | bit_if(bth.becn, 0x40) | (bth.reserved6 & 0x3fU), 0xff));
  Fields::Destination::store(p, bth.destination.value);
  Fields::AckRequest::store(p, low_bits(bit_if(bth.ack_request, 0x80) | (bth.reserved7 & 0x7fU), 0xff));
  Fields::Psn::store(p, bth.psn);
}

Reth load_reth(const std::byte* p) {
  using Fields = field::Reth;
  return {Fields::Address::load(p), MemoryKey(Fields::Key::load(p)), Fields::Length::load(p)};
}

AtomicEth load_atomic(const std::byte* p) {
  using Fields = field::AtomicEth;
  return {Fields::Address::load(p), MemoryKey(Fields::Key::load(p)), Fields::SwapOrAdd::load(p),
          Fields::Compare::load(p)};
}

// Loads the extension headers of the mask, in wire order, from p on. The caller has checked the length.
void load_extensions(std::uint16_t mask, const std::byte* p, Headers& h) {
  if ((mask & kDeth) != 0) {
    h.deth = {field::Deth::Qkey::load(p), Qpn(field::Deth::Source::load(p)), field::Deth::Reserved::load(p)};
    p += 8;
  }
  if ((mask & kXrceth) != 0) {
    h.xrc_reserved = field::Xrceth::Reserved::load(p);
    h.xrc_srqn = field::Xrceth::Srqn::load(p);
    p += 4;
  }
  if ((mask & kFeth) != 0) {
    h.flush_selector = field::Feth::Selector::load(p);
    p += 4;
  }
  if ((mask & kReth) != 0) {
    h.reth = load_reth(p);
    p += 16;
  }
  if ((mask & kAtomicEth) != 0) {
    h.atomic = load_atomic(p);
    p += 28;
  }
  if ((mask & kAeth) != 0) {
    h.aeth = {field::Aeth::Syndrome::load(p), field::Aeth::Msn::load(p)};
    p += 4;
  }
  if ((mask & kAtomicAckEth) != 0) {
    h.atomic_original = field::AtomicAckEth::Original::load(p);
    p += 8;
  }
  if ((mask & kImmDt) != 0) {
    h.immediate = field::ImmDt::Data::load(p);
    p += 4;
  }
  if ((mask & kIeth) != 0) h.invalidate = MemoryKey(field::Ieth::Key::load(p));
}

void store_reth(const Reth& reth, std::byte* p) {
  field::Reth::Address::store(p, reth.address);
  field::Reth::Key::store(p, reth.key.value);
  field::Reth::Length::store(p, reth.length);
}

void store_atomic(const AtomicEth& atomic, std::byte* p) {
  field::AtomicEth::Address::store(p, atomic.address);
  field::AtomicEth::Key::store(p, atomic.key.value);
  field::AtomicEth::SwapOrAdd::store(p, atomic.swap_or_add);
  field::AtomicEth::Compare::store(p, atomic.compare);
}

void store_extensions(std::uint16_t mask, const Headers& h, std::byte* p) {
  if ((mask & kDeth) != 0) {
    field::Deth::Qkey::store(p, h.deth.qkey);
    field::Deth::Reserved::store(p, h.deth.reserved);
    field::Deth::Source::store(p, h.deth.source.value);
    p += 8;
  }
  if ((mask & kXrceth) != 0) {
    field::Xrceth::Reserved::store(p, h.xrc_reserved);
    field::Xrceth::Srqn::store(p, h.xrc_srqn);
    p += 4;
  }
  if ((mask & kFeth) != 0) {
    field::Feth::Selector::store(p, h.flush_selector);
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
    field::Aeth::Syndrome::store(p, h.aeth.syndrome);
    field::Aeth::Msn::store(p, h.aeth.msn);
    p += 4;
  }
  if ((mask & kAtomicAckEth) != 0) {
    field::AtomicAckEth::Original::store(p, h.atomic_original);
    p += 8;
  }
  if ((mask & kImmDt) != 0) {
    field::ImmDt::Data::store(p, h.immediate);
    p += 4;
  }
  if ((mask & kIeth) != 0) field::Ieth::Key::store(p, h.invalidate.value);
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
