#include "link/capture_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "link/udp_link.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CaptureFileTest : public ::testing::Test {
 protected:
  CaptureFileTest() : folder_(fs::temp_directory_path() / ("softrnic_capture." + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~CaptureFileTest() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ / name; }

  fs::path folder_;
};

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char chunk[4096];
  while (const std::size_t n = fread(chunk, 1, sizeof chunk, pipe)) out.append(chunk, n);
  pclose(pipe);
  return out;
}

TEST_F(CaptureFileTest, HoldsBothDirectionsAsTsharkUnderstandsThem) {
  if (output_of("command -v tshark").empty()) GTEST_SKIP() << "tshark is not installed";
  for (const char* address : {"127.0.0.1", "::1"}) {
    auto capture = CaptureFile::create(path("a.pcapng"));
    ASSERT_TRUE(capture);
    std::uint16_t port = 0;
    const int fd = bound_socket(address, 4791, port);
    if (fd < 0) GTEST_SKIP() << "port 4791 is in use";
    UdpLink link(UdpLink::Options{fd});
    link.set_tap(capture->get());
    PacketMaker maker;
    maker.path.source = maker.path.destination = gid_of(address);
    for (std::uint32_t i = 0; i < 3; ++i) {
      link.send(maker.make(wire::Opcode::rc_write_middle, i, pattern(1024, i), 2), TimePoint{});
    }
    link.flush(TimePoint{});
    Collector collector;
    read_until(link, collector, 3);
    ASSERT_EQ(collector.count(), 3U);
    // Not flushed nor closed: what is in the file now is what a killed process would leave.
    const std::string fields =
        output_of("tshark -n -r " + path("a.pcapng") +
                  " -T fields -e infiniband.bth.opcode "
                  "-e infiniband.bth.psn -e infiniband.invariant.crc -e _ws.malformed 2>&1");
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < fields.size();) {
      const std::size_t end = fields.find('\n', at);
      lines.push_back(fields.substr(at, end - at));
      at = end == std::string::npos ? fields.size() : end + 1;
    }
    std::erase_if(lines, [](const std::string& line) { return line.rfind("Running as", 0) == 0; });
    ASSERT_EQ(lines.size(), 6U) << fields;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_THAT(lines[i], HasSubstr("7\t" + std::to_string(i) + "\t"));
      EXPECT_EQ(lines[i], lines[i + 3]);  // what came in is what went out, ICRC included
    }
  }
}

TEST_F(CaptureFileTest, PutsTheProcessIdWhereAsked) {
  const auto capture = CaptureFile::create(path("x-%p.pcapng"));
  ASSERT_TRUE(capture);
  EXPECT_EQ((*capture)->path(), path(("x-" + std::to_string(getpid()) + ".pcapng").c_str()));
  EXPECT_GT(fs::file_size((*capture)->path()), 0U);
}

TEST_F(CaptureFileTest, DoesNotSpoilTheFileOfAnotherWriter) {
  const auto first = CaptureFile::create(path("x.pcapng"));
  const auto second = CaptureFile::create(path("x.pcapng"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*second)->path(), path(("x." + std::to_string(getpid()) + ".pcapng").c_str()));
}

TEST_F(CaptureFileTest, ReplacesAnOldFileAndReportsABadPath) {
  std::ofstream(path("old.pcapng")) << std::string(10000, 'x');
  const auto capture = CaptureFile::create(path("old.pcapng"));
  ASSERT_TRUE(capture);
  EXPECT_LT(fs::file_size(path("old.pcapng")), 1000U);
  EXPECT_EQ(CaptureFile::create(path("no/such/folder.pcapng")).error(), ENOENT);
}

}  // namespace
}  // namespace softrnic::link::test
