// The byte streams of the TCP connections in a capture, put together by sequence number; for tests only.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <vector>

#include "tests/support/pcap_reader.h"
#include "wire/mpa.h"

namespace softrnic::testing {

/// Of a frame of MPA's set-up as siw sends it: with the enhanced fields, without private data.
inline constexpr std::size_t kSiwSetupBytes = wire::kMpaFrameBytes + wire::kMpaEnhancedBytes;

/// One direction of a connection.
struct TcpDirection {
  std::uint32_t source = 0, destination = 0;  ///< IPv4
  std::uint16_t source_port = 0, destination_port = 0;
  auto operator<=>(const TcpDirection&) const = default;
  TcpDirection reversed() const { return {destination, source, destination_port, source_port}; }
};

struct TcpStream {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> segments;  ///< lengths, as they were captured
  std::uint32_t first = 0;            ///< sequence number of bytes[0]
  bool opened = false;                ///< by a SYN without ACK: this direction is the initiator's
};

/// Empty when the file cannot be read. Frames are Ethernet with IPv4; a gap ends a stream.
inline std::map<TcpDirection, TcpStream> tcp_streams(const std::filesystem::path& path) {
  std::map<TcpDirection, TcpStream> streams;
  const auto file = read_pcap(path);
  if (!file) return streams;
  for (const auto& frame : file->packets) {
    constexpr std::size_t kEthernet = 14, kIp = 20, kTcp = 20;
    if (frame.size() < kEthernet + kIp + kTcp || load_be16(&frame[12]) != 0x0800) continue;
    const std::byte* const ip = &frame[kEthernet];
    if (std::to_integer<int>(ip[9]) != 6) continue;
    const std::size_t ip_bytes = std::to_integer<std::size_t>(ip[0] & std::byte{15}) * 4;
    const std::byte* const tcp = ip + ip_bytes;
    const std::size_t tcp_bytes = std::to_integer<std::size_t>(tcp[12] >> 4) * 4;
    const std::size_t total = load_be16(ip + 2);
    const unsigned flags = std::to_integer<unsigned>(tcp[13]);
    const TcpDirection key{load_be32(ip + 12), load_be32(ip + 16), load_be16(tcp), load_be16(tcp + 2)};
    TcpStream& stream = streams[key];
    std::uint32_t sequence = load_be32(tcp + 4);
    if ((flags & 2) != 0) {
      stream.first = sequence + 1;
      stream.opened = (flags & 0x10) == 0;
      continue;
    }
    const std::size_t size = total - ip_bytes - tcp_bytes;
    const std::size_t at = sequence - stream.first;
    if (size == 0 || at != stream.bytes.size()) continue;  // repeated, or without data
    stream.bytes.insert(stream.bytes.end(), tcp + tcp_bytes, tcp + tcp_bytes + size);
    stream.segments.push_back(size);
  }
  std::erase_if(streams, [](const auto& each) { return each.second.bytes.empty(); });
  return streams;
}

}  // namespace softrnic::testing
