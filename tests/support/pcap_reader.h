// Reads classic pcap files (little-endian, micro- or nanoseconds) into memory; for tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace softrnic::testing {

struct PcapFile {
  std::uint32_t link_type = 0;  ///< 1: Ethernet
  std::vector<std::vector<std::byte>> packets;
};

/// The file's packets; nothing when it cannot be read, is no pcap file or ends within a packet.
inline std::optional<PcapFile> read_pcap(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto u32 = [&text](std::size_t at) {
    std::uint32_t v = 0;
    std::memcpy(&v, text.data() + at, sizeof v);
    return v;
  };
  constexpr std::size_t kFileHeader = 24;
  constexpr std::size_t kRecordHeader = 16;
  if (text.size() < kFileHeader || (u32(0) != 0xa1b2c3d4 && u32(0) != 0xa1b23c4d)) return std::nullopt;
  PcapFile file;
  file.link_type = u32(20);
  for (std::size_t at = kFileHeader; at < text.size();) {
    if (text.size() - at < kRecordHeader) return std::nullopt;
    const std::size_t captured = u32(at + 8);
    at += kRecordHeader;
    if (text.size() - at < captured) return std::nullopt;
    const auto* begin = reinterpret_cast<const std::byte*>(text.data() + at);
    file.packets.emplace_back(begin, begin + captured);
    at += captured;
  }
  return file;
}

/// Whose driver a capture shows, as its name says.
enum class Captured { rxe, siw };

/// Those of a folder, by name.
inline std::vector<std::filesystem::path> captures_in(const std::filesystem::path& folder, Captured driver) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const Captured shown = name.starts_with("siw-") ? Captured::siw : Captured::rxe;
    if (entry.path().extension() == ".pcap" && shown == driver) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// What a test of a capture may be called: GoogleTest knows letters, digits and underscores.
inline std::string capture_test_name(const std::filesystem::path& capture) {
  std::string name = capture.stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace softrnic::testing
