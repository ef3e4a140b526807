#include "fabricd/fabric_cable_messages.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "fabric/types.h"

namespace softrnic::fabricd {
namespace {

constexpr std::string_view kMagic = "softrnic";

enum class Type : std::uint8_t {
  challenge = 1,
  hello,
  welcome,
  refusal,
  link,
  packet,
  flow_control,
  addresses,
  keepalive
};

constexpr std::size_t kAddressBytes = 12;
static_assert(kCableHeaderBytes + 1 + fabric::kMaxPacketBytes <= kMostCableMessage);
static_assert(kCableHeaderBytes + 1 + CableAddresses::kMost * kAddressBytes <= kMostCableMessage);

/// Writes one message at the end; its length at last.
class Writer {
 public:
  Writer(std::vector<std::byte>& out, Type type) : out_(out), begin_(out.size()) {
    be16(0);
    byte(static_cast<std::uint8_t>(type));
  }
  ~Writer() { store_be16(&out_[begin_], static_cast<std::uint16_t>(out_.size() - begin_)); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void byte(std::uint8_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void be16(std::uint16_t value) { store_be16(grow(2), value); }
  void be32(std::uint32_t value) { store_be32(grow(4), value); }
  void be64(std::uint64_t value) { store_be64(grow(8), value); }
  void bytes(Bytes value) { out_.insert(out_.end(), value.begin(), value.end()); }
  std::byte* grow(std::size_t size) {
    out_.resize(out_.size() + size);
    return out_.data() + out_.size() - size;
  }

 private:
  std::vector<std::byte>& out_;
  const std::size_t begin_;
};

/// Takes values off the front; of what is not there, zeros.
class Reader {
 public:
  explicit Reader(Bytes body) : left_(body) {}

  std::uint8_t byte() { return std::to_integer<std::uint8_t>(*take<1>().data()); }
  bool flag() {
    const std::uint8_t value = byte();
    sane_ &= value <= 1;
    return value == 1;
  }
  std::uint16_t be16() { return load_be16(take<2>().data()); }
  std::uint32_t be32() { return load_be32(take<4>().data()); }
  std::uint64_t be64() { return load_be64(take<8>().data()); }
  template <std::size_t kSize>
  std::array<std::byte, kSize> take() {
    std::array<std::byte, kSize> value{};
    sane_ &= left_.size() >= kSize;
    if (!sane_) return value;
    std::memcpy(value.data(), left_.data(), kSize);
    left_ = left_.subspan(kSize);
    return value;
  }
  Bytes rest() { return std::exchange(left_, {}); }
  std::size_t left() const { return left_.size(); }
  /// All was there, and nothing more.
  bool is_done() const { return sane_ && left_.empty(); }

 private:
  Bytes left_;
  bool sane_ = true;
};

using Parsed = std::optional<CableMessage>;

template <typename Message>
Parsed if_done(const Reader& reader, Message message) {
  return reader.is_done() ? Parsed(std::move(message)) : std::nullopt;
}

Parsed parse_challenge(Reader reader) {
  const auto magic = reader.take<kMagic.size()>();
  CableChallenge challenge;
  challenge.version = reader.be16();
  challenge.nonce = reader.take<sizeof(CableNonce)>();
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  return if_done(reader, challenge);
}

Parsed parse_hello(Reader reader) {
  CableHello hello;
  hello.nonce = reader.take<sizeof(CableNonce)>();
  hello.index = reader.byte();
  hello.proof = reader.take<sizeof(Mac)>();
  return if_done(reader, hello);
}

Parsed parse_welcome(Reader reader) {
  CableWelcome welcome;
  welcome.index = reader.byte();
  welcome.proof = reader.take<sizeof(Mac)>();
  return if_done(reader, welcome);
}

Parsed parse_refusal(Reader reader) {
  CableRefusal refusal;
  const Bytes text = reader.rest();
  if (text.size() > kMostRefusal) return std::nullopt;
  refusal.why.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return if_done(reader, std::move(refusal));
}

Parsed parse_link(Reader reader) {
  CableLink link;
  link.status.epoch = reader.be32();
  link.status.heard = reader.be32();
  link.status.ready = reader.flag();
  link.settings.widths = reader.byte();
  link.settings.speeds = reader.byte();
  link.settings.extended = reader.byte();
  return link.status.epoch == 0 ? std::nullopt : if_done(reader, link);
}

// Whether the bytes are a packet the engine finds out.
Parsed parse_packet(Reader reader) {
  CablePacket packet;
  packet.damaged = reader.flag();
  packet.bytes = reader.rest();
  return if_done(reader, packet);
}

Parsed parse_flow_control(Reader reader) {
  const auto packet = wire::parse_flow_control_packet(reader.rest());
  return packet ? Parsed(*packet) : std::nullopt;
}

Parsed parse_addresses(Reader reader) {
  CableAddresses addresses;
  addresses.first = reader.flag();
  for (std::size_t count = reader.left() / kAddressBytes; count > 0; --count) {
    const std::uint32_t ipv4 = reader.be32();
    addresses.list.push_back({ipv4, mad::Guid(reader.be64())});
  }
  return if_done(reader, std::move(addresses));
}

Parsed parse_keepalive(Reader reader) { return if_done(reader, CableKeepalive{}); }

/// By type, from 1.
constexpr Parsed (*kParsers[])(Reader) = {parse_challenge,    parse_hello,     parse_welcome,
                                          parse_refusal,      parse_link,      parse_packet,
                                          parse_flow_control, parse_addresses, parse_keepalive};

}  // namespace

Expected<CableMessage, std::string_view> parse_cable_message(Bytes message) {
  if (message.size() < kCableHeaderBytes || load_be16(message.data()) != message.size())
    return Unexpected{std::string_view("a message whose length is wrong")};
  const auto type = std::to_integer<std::size_t>(message[2]);
  if (type == 0 || type > std::size(kParsers))
    return Unexpected{std::string_view("a message of no type that there is")};
  auto parsed = kParsers[type - 1](Reader(message.subspan(kCableHeaderBytes)));
  if (!parsed) return Unexpected{std::string_view("a message that makes no sense")};
  return std::move(*parsed);
}

void append(std::vector<std::byte>& out, const CableChallenge& message) {
  Writer writer(out, Type::challenge);
  writer.bytes(std::as_bytes(std::span(kMagic)));
  writer.be16(message.version);
  writer.bytes(message.nonce);
}

void append(std::vector<std::byte>& out, const CableHello& message) {
  Writer writer(out, Type::hello);
  writer.bytes(message.nonce);
  writer.byte(message.index);
  writer.bytes(message.proof);
}

void append(std::vector<std::byte>& out, const CableWelcome& message) {
  Writer writer(out, Type::welcome);
  writer.byte(message.index);
  writer.bytes(message.proof);
}

void append(std::vector<std::byte>& out, const CableRefusal& message) {
  Writer writer(out, Type::refusal);
  writer.bytes(std::as_bytes(std::span(message.why)).first(std::min(message.why.size(), kMostRefusal)));
}

void append(std::vector<std::byte>& out, const CableLink& message) {
  Writer writer(out, Type::link);
  writer.be32(message.status.epoch);
  writer.be32(message.status.heard);
  writer.byte(message.status.ready ? 1 : 0);
  writer.byte(message.settings.widths);
  writer.byte(message.settings.speeds);
  writer.byte(message.settings.extended);
}

void append(std::vector<std::byte>& out, const CablePacket& message) {
  Writer writer(out, Type::packet);
  writer.byte(message.damaged ? 1 : 0);
  writer.bytes(message.bytes);
}

void append(std::vector<std::byte>& out, const wire::FlowControlPacket& message) {
  Writer writer(out, Type::flow_control);
  constexpr std::size_t kSize = wire::kFlowControlPacketBytes;
  wire::encode_flow_control_packet(message, std::span<std::byte, kSize>(writer.grow(kSize), kSize));
}

void append(std::vector<std::byte>& out, const CableAddresses& message) {
  Writer writer(out, Type::addresses);
  writer.byte(message.first ? 1 : 0);
  for (const CableAddress& address : message.list) {
    writer.be32(address.ipv4);
    writer.be64(address.port.value);
  }
}

void append(std::vector<std::byte>& out, const CableKeepalive&) { Writer writer(out, Type::keepalive); }

Mac prove_cable_token(std::string_view token, char who, const CableNonce& listener, const CableNonce& joiner,
                      std::uint8_t index) {
  std::vector<std::byte> text;
  for (const char letter : kMagic) text.push_back(static_cast<std::byte>(letter));
  text.push_back(static_cast<std::byte>(who));
  text.push_back(static_cast<std::byte>(index));
  text.insert(text.end(), listener.begin(), listener.end());
  text.insert(text.end(), joiner.begin(), joiner.end());
  return hmac_sha256(std::as_bytes(std::span(token)), text);
}

}  // namespace softrnic::fabricd
