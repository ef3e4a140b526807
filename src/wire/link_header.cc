#include "wire/link_header.h"

#include <array>
#include <cstdio>

#include "wire/fields.h"

namespace softrnic::wire {
namespace {

using Fields = field::Lrh;

constexpr std::uint8_t joined_bits(unsigned high, unsigned middle, unsigned low) {
  return static_cast<std::uint8_t>((high & 0xf) << 4 | (middle & 3) << 2 | (low & 3));
}

constexpr std::array<std::string_view, 4> kNextHeaderNames = {"raw", "IP non-IBA", "IBA local", "IBA global"};

}  // namespace

LinkHeader decode_link_header(std::span<const std::byte, kLrhBytes> bytes) {
  const std::byte* const p = bytes.data();
  LinkHeader header;
  const std::uint8_t lane = Fields::Lane::load(p);
  header.vl = lane >> 4;
  header.version = lane & 0xf;
  const std::uint8_t level = Fields::Level::load(p);
  header.sl = level >> 4;
  header.reserved2 = level >> 2 & 3;
  header.next_header = static_cast<LinkNextHeader>(level & 3);
  header.dlid = Lid(Fields::Destination::load(p));
  const std::uint16_t length = Fields::Length::load(p);
  header.reserved5 = static_cast<std::uint8_t>(length >> 11);
  header.packet_length = length & kMaxPacketLength;
  header.slid = Lid(Fields::Source::load(p));
  return header;
}

void encode_link_header(const LinkHeader& header, std::span<std::byte, kLrhBytes> out) {
  std::byte* const p = out.data();
  const unsigned version = header.version;
  Fields::Lane::store(p, joined_bits(header.vl, version >> 2, version));
  Fields::Level::store(p,
                       joined_bits(header.sl, header.reserved2, static_cast<unsigned>(header.next_header)));
  Fields::Destination::store(p, header.dlid.value);
  Fields::Length::store(
      p, static_cast<std::uint16_t>(header.reserved5 << 11 | (header.packet_length & kMaxPacketLength)));
  Fields::Source::store(p, header.slid.value);
}

Lid dlid_of(std::span<const std::byte, kLrhBytes> bytes) {
  return Lid(Fields::Destination::load(bytes.data()));
}

void set_vl(std::span<std::byte, kLrhBytes> bytes, std::uint8_t vl) {
  const unsigned version = Fields::Lane::load(bytes.data()) & 0xfU;
  Fields::Lane::store(bytes.data(), static_cast<std::uint8_t>((vl & 0xfU) << 4 | version));
}

std::string_view name_of(LinkNextHeader next_header) {
  return kNextHeaderNames[static_cast<std::size_t>(next_header) & 3];
}

std::string to_string(const LinkHeader& header) {
  std::array<char, 100> line;
  const std::string_view next = name_of(header.next_header);
  std::snprintf(line.data(), line.size(), "VL %u SL %u LID 0x%04x > 0x%04x, %.*s, %u words", header.vl & 0xfU,
                header.sl & 0xfU, header.slid.value, header.dlid.value, static_cast<int>(next.size()),
                next.data(), static_cast<unsigned>(header.packet_length));
  return line.data();
}

}  // namespace softrnic::wire
