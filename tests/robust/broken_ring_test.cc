// A program that overwrites the memory through which its packets go to another one: that says
// so, and both go on by UDP.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/reason_id.h"
#include "control/page_reader.h"
#include "patience.h"
#include "samehost/packet_ring.h"
#include "two_children.h"

namespace softrnic::robust {
namespace {

constexpr std::uint32_t kMessages = 200;
constexpr std::uint8_t kTimeout = 8;

/// Overwrites the rings that this process writes to; how many there are.
unsigned overwrite_rings() {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> maps(std::fopen("/proc/self/maps", "re"));
  unsigned rings = 0;
  for (char line[512]; maps != nullptr && std::fgets(line, sizeof line, maps.get()) != nullptr;) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line, "%lx-%lx", &begin, &end) != 2 || std::strstr(line, "softrnic-inbox") == nullptr ||
        end - begin != sizeof(samehost::PacketRing))
      continue;
    std::memset(reinterpret_cast<samehost::PacketRing*>(begin)->records, 0xff, samehost::kRingBytes);
    ++rings;
  }
  return rings;
}

/// Whether an adapter of this network namespace tells of it, as `softrnic explain` would show.
bool is_explained(ReasonId id) {
  auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  auto pages = client ? (*client)->pages() : Unexpected{client.error()};
  if (!pages) return false;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (!reader) continue;
    for (const Explanation& said : reader->explanations())
      if (said.reason.id == id) return true;
  }
  return false;
}

int send_and_overwrite(const Line& line) {
  Side side;
  Card peer;
  if (!meet(side, line, peer, kTimeout)) return fail(refused, "a connection");
  if (exchange(side, kMessages, 1, 2) != 0) return fail(not_as_expected, "messages");
  if (overwrite_rings() == 0) return fail(not_as_expected, "a ring");
  for (Patience patience{std::chrono::seconds(10)}; !is_explained(ReasonId::drop_ring_broken);)
    if (patience.over()) return fail(not_as_expected, "a peer that notices");
  if (!line.tell()) return fail(no_peer, "a peer");
  if (exchange(side, kMessages, 3, 4) != 0) return fail(not_as_expected, "messages by UDP");
  if (!is_explained(ReasonId::ring_refused)) return fail(not_as_expected, "a writer that knows");
  return line.tell() && line.hear() && side.close() ? done : fail(refused, "an end");
}

/// Looks at its rings all the time.
int receive_and_notice(const Line& line) {
  Side side;
  Card peer;
  if (!meet(side, line, peer, kTimeout)) return fail(refused, "a connection");
  if (exchange(side, kMessages, 2, 1) != 0) return fail(not_as_expected, "messages");
  ibv_wc wc{};
  while (!line.told())
    if (ibv_poll_cq(side.cq, 1, &wc) != 0) return fail(not_as_expected, "nothing yet", wc);
  if (!line.hear()) return fail(no_peer, "a peer");
  if (exchange(side, kMessages, 4, 3) != 0) return fail(not_as_expected, "messages by UDP");
  return line.tell() && line.hear() && side.close() ? done : fail(refused, "an end");
}

TEST(BrokenRing, IsToldOfAndMessagesGoOnByUdp) {
  if (std::getenv("SOFTRNIC_PATH") != nullptr) GTEST_SKIP() << "there is no ring";
  Lines lines;
  const pid_t receiver = start_child([&] { return receive_and_notice(Line(lines.a.get())); });
  const pid_t sender = start_child([&] { return send_and_overwrite(Line(lines.b.get())); });
  EXPECT_EQ(end_of(sender), done);
  EXPECT_EQ(end_of(receiver), done);
}

}  // namespace
}  // namespace softrnic::robust
