// Whole packets made from the opcode table, for tests: every opcode, every field different from zero.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/icrc.h"

namespace softrnic::testing {

/// Headers of `opcode` with a value in every field that the opcode has on the wire.
inline wire::Headers sample_headers(wire::Opcode opcode) {
  wire::Headers h;
  h.bth.opcode = opcode;
  h.bth.solicited = true;
  h.bth.becn = opcode == wire::Opcode::cnp;
  h.bth.destination = Qpn(0x012345);
  h.bth.ack_request = wire::opcode_info(opcode).request;
  h.bth.psn = 0xabcdef;
  h.deth = {0x11111111, Qpn(0x000777), 0};
  h.reth = {0x7f0011223348, MemoryKey(0x1234), 0x2000};
  h.atomic = {0x7f0011223348, MemoryKey(0x1234), 0x1122334455667788, 0x99aabbccddeeff00};
  h.aeth = {wire::kAckUnlimitedCredits, 0x00cafe};
  h.atomic_original = 0x0102030405060708;
  h.immediate = 0xdeadbeef;
  h.invalidate = MemoryKey(0x00005678);
  h.flush_selector = 0x21;
  h.xrc_srqn = 0x000042;
  return h;
}

/// A payload size that is legal for `rule` with a path MTU of 1024; odd where it may be.
inline std::size_t sample_payload(wire::PayloadRule rule) {
  constexpr std::size_t kSizes[] = {0, 1024, 77, 333, 8, 16};
  return kSizes[static_cast<std::size_t>(rule)];
}

inline wire::FrameHeaders sample_frame(bool ipv6) {
  wire::FrameHeaders frame;
  frame.destination_mac[5] = std::byte{2};
  frame.source_mac[5] = std::byte{1};
  frame.flow.source_port = 0xc123;
  frame.flow.source = wire::Gid::from_ipv4_be(0x0100000a);
  frame.flow.destination = wire::Gid::from_ipv4_be(0x0200000a);
  if (ipv6) {
    for (wire::Gid* gid : {&frame.flow.source, &frame.flow.destination}) {
      const std::byte last = gid->raw[12 + 3];
      *gid = {};
      gid->raw[0] = std::byte{0xfd};
      gid->raw[15] = gid == &frame.flow.source ? std::byte{1} : last;
    }
  }
  return frame;
}

/// The frame that carries `headers` and `payload`: Ethernet to ICRC.
inline std::vector<std::byte> build_frame(const wire::FrameHeaders& below, wire::Headers headers,
                                          Bytes payload) {
  headers.bth.pad = wire::pad_for(payload.size());
  std::byte transport[wire::kMaxHeaderBytes];
  const std::size_t header_size = wire::encode(headers, transport);
  const std::size_t udp_payload = header_size + payload.size() + headers.bth.pad + wire::kIcrcBytes;
  std::vector<std::byte> out(wire::kMaxFrameHeaderBytes);
  out.resize(wire::encode_frame(below, udp_payload, out));
  const std::size_t udp = out.size();
  out.insert(out.end(), transport, transport + header_size);
  out.insert(out.end(), payload.begin(), payload.end());
  out.resize(udp + udp_payload - wire::kIcrcBytes);
  wire::Icrc icrc(below.flow, udp_payload, below.ip_id);
  icrc.add_headers(Bytes(out).subspan(udp));
  const std::uint32_t value = icrc.value();
  out.resize(out.size() + sizeof value);
  std::memcpy(out.data() + out.size() - sizeof value, &value, sizeof value);
  return out;
}

}  // namespace softrnic::testing
