// A peer that sends whatever a test makes of a segment, and reads what an endpoint sends.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "tests/unit/transport/iwarp/endpoint_pair.h"
#include "wire/terminate.h"

namespace softrnic::iwarp::test {

using wire::RdmapOpcode;

inline std::vector<std::byte> fpdu(Bytes header, Bytes payload) {
  const std::size_t ulpdu = header.size() + payload.size();
  std::vector<std::byte> bytes(wire::fpdu_bytes(ulpdu));
  store_be16(bytes.data(), static_cast<std::uint16_t>(ulpdu));
  std::copy(header.begin(), header.end(), bytes.begin() + 2);
  std::copy(payload.begin(), payload.end(), bytes.begin() + 2 + static_cast<std::ptrdiff_t>(header.size()));
  return bytes;
}

inline std::vector<std::byte> fpdu(const wire::DdpHeader& header, Bytes payload = {}) {
  std::array<std::byte, wire::kMaxDdpBytes> bytes;
  return fpdu(Bytes(bytes).first(wire::encode(header, bytes)), payload);
}

/// A header with what is mostly right.
inline wire::DdpHeader header(RdmapOpcode opcode, std::uint32_t msn = 1) {
  wire::DdpHeader header = wire::ddp_header(opcode);
  header.msn = msn;
  header.stag = kKey;
  header.offset = kBase;
  return header;
}

template <std::size_t size, typename Body>
std::vector<std::byte> encoded(const Body& body) {
  std::vector<std::byte> bytes(size);
  wire::encode(body, bytes);
  return bytes;
}

/// The endpoint of one Side, without a peer of its own kind.
struct RawPeer {
  Side side{1};
  TimePoint now{};

  explicit RawPeer(Attributes attributes = default_attributes(), MpaAgreement agreement = agreed()) {
    side.endpoint.start(attributes, agreement, now);
  }
  void send(Bytes bytes) { side.endpoint.receive(bytes, now); }
  /// Everything that the endpoint has to say.
  std::vector<std::byte> read() {
    std::vector<std::byte> stream;
    std::array<Bytes, 32> out;
    for (std::size_t count; (count = side.endpoint.gather(out, now)) > 0;) {
      const std::size_t before = stream.size();
      for (const Bytes piece : std::span(out).first(count))
        stream.insert(stream.end(), piece.begin(), piece.end());
      side.endpoint.sent(stream.size() - before, now);
    }
    return stream;
  }
  /// The Terminate message at the end of what it says, if there is one.
  std::optional<wire::Terminate> terminated() {
    const auto stream = read();
    std::optional<wire::Terminate> found;
    for (std::size_t at = 0; at < stream.size();) {
      const Bytes ulpdu = Bytes(stream).subspan(at + 2, load_be16(&stream[at]));
      const auto parsed = wire::parse_ddp(ulpdu);
      if (parsed && parsed->opcode == static_cast<std::uint8_t>(RdmapOpcode::terminate))
        found = wire::parse_terminate(ulpdu.subspan(wire::ddp_bytes(*parsed)));
      at += wire::fpdu_bytes(ulpdu.size());
    }
    return found;
  }
};

}  // namespace softrnic::iwarp::test
