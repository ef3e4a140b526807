// A program that is called what a terminal would obey, and writes nonsense into its own page: the
// commands that read it go on.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "control/page_layout.h"
#include "control/shared_memory.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

int show_nonsense(std::uint64_t mask) {
  static std::unique_ptr<control::Client> held;
  prctl(PR_SET_NAME, "\x1b]0;evil\x07\xff");
  const UniqueFd fd = control::make_shared_memory("page", control::kPageBytes);
  auto* page = static_cast<control::Page*>(control::map_shared_memory(fd.get(), control::kPageBytes));
  if (page == nullptr) return 1;
  std::mt19937_64 random(mask);
  auto* words = reinterpret_cast<std::uint64_t*>(page);
  for (std::size_t i = 0; i < control::kPageBytes / sizeof *words; ++i) words[i] = random() & mask;
  page->header.magic = control::kPageMagic;
  page->header.version = control::kPageVersion;
  for (control::PageExplanation& record : page->explanations) {  // some that hold still
    record.sequence = 2;
    record.body.reason %= static_cast<std::uint32_t>(reason_count());
  }
  auto client = control::Client::connect();
  if (!client) return 2;
  held = std::move(*client);
  return held->register_page(fd.get()) ? 0 : 3;
}

std::string output_of(const std::string& words, int& status) {
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::FILE* pipe = popen((own.string() + "/../bin/softrnic " + words + " 2>&1").c_str(), "re");
  std::string out;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), got);
  status = pclose(pipe);
  return out;
}

TEST_F(DaemonTest, NonsenseInAPageHurtsNobodyWhoReadsIt) {
  std::vector<Child> programs;
  for (const std::uint64_t mask : {~0ULL, 0x0101'0101'0101'0101ULL, 0xff00'0000'00ffULL}) {
    programs.emplace_back([mask] { return show_nonsense(mask); });
    ASSERT_EQ(programs.back().result(), 0);
  }
  for (const std::string words : {"stat", "stat --json", "explain", "explain --json", "explain --all",
                                  "resource show qp", "resource show qp --json", "resource"}) {
    int status = -1;
    const std::string out = output_of(words, status);
    EXPECT_EQ(status, 0) << words << ": " << out.substr(0, 400);
    EXPECT_EQ(out.find_first_of("\x1b\x07"), std::string::npos) << words;
  }
  EXPECT_NE(connect(), nullptr);
}

}  // namespace
}  // namespace softrnic::tests
