// The CM datagrams of a capture, in order.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cm/messages.h"
#include "mad/mad.h"
#include "tests/support/pcap_reader.h"
#include "wire/frame.h"
#include "wire/headers.h"

namespace softrnic::testing {

struct CapturedMad {
  wire::Gid source;
  wire::Gid destination;
  mad::Mad mad;
  cm::Message message() const { return static_cast<cm::Message>(load_be16(&mad[16])); }
};

inline std::optional<CapturedMad> cm_mad_in(Bytes frame_bytes) {
  const auto frame = wire::parse_frame(frame_bytes);
  if (!frame || frame->headers.flow.destination_port != wire::kRoceUdpPort) return std::nullopt;
  const auto packet = wire::parse(frame->udp_payload.first(frame->udp_payload.size() - wire::kIcrcBytes));
  if (!packet || packet->headers.bth.destination.value != 1 || packet->payload.size() != mad::kMadBytes) {
    return std::nullopt;
  }
  CapturedMad captured{frame->headers.flow.source, frame->headers.flow.destination, {}};
  std::copy(packet->payload.begin(), packet->payload.end(), captured.mad.begin());
  return captured;
}

/// Empty when the file cannot be read.
inline std::vector<CapturedMad> cm_mads_of(const std::filesystem::path& path) {
  std::vector<CapturedMad> mads;
  const auto file = read_pcap(path);
  if (!file) return mads;
  for (const auto& bytes : file->packets) {
    if (const auto captured = cm_mad_in(bytes)) mads.push_back(*captured);
  }
  return mads;
}

}  // namespace softrnic::testing
