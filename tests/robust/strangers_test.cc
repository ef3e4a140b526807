// Two programs of one user and one network namespace. Who may attach to each other shares memory; who may not
// talks by packets, has nothing of the other's mapped, and is told why.
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "control/page_reader.h"
#include "hardship.h"
#include "patience.h"
#include "tests/support/namespaces.h"
#include "two_children.h"

namespace softrnic::robust {
namespace {

using control::PathChoice;

constexpr std::uint32_t kMessages = 200;

// ---- surroundings

bool undergo_one(const char* name) {
  std::string words[] = {"", name};
  char* pointers[] = {words[0].data(), words[1].data()};
  return undergo(2, pointers) == 1;
}

bool as_usual() { return true; }

bool without_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return syscall(SYS_capset, &header, none.data()) == 0;
}

bool in_a_container() { return undergo_one("in-pid-namespace") && without_capabilities(); }

bool not_dumpable() { return without_capabilities() && prctl(PR_SET_DUMPABLE, 0) == 0; }

bool without_pidfd_getfd() { return undergo_one("without-pidfd-getfd"); }

bool without_any_attach() { return without_pidfd_getfd() && undergo_one("without-attach"); }

struct StrangerPair {
  const char* name;
  bool (*a)();
  bool (*b)();
  PathChoice way;  ///< of both
};
constexpr StrangerPair kPairs[] = {
    {"Usual", as_usual, as_usual, PathChoice::direct},
    {"BothWithoutCapabilities", without_capabilities, without_capabilities, PathChoice::direct},
    {"BothWithoutPidfdGetfd", without_pidfd_getfd, without_pidfd_getfd, PathChoice::direct},
    {"BothWithoutAnyAttach", without_any_attach, without_any_attach, PathChoice::refused},
    {"Container", as_usual, in_a_container, PathChoice::refused},
    {"OneWithoutCapabilities", as_usual, without_capabilities, PathChoice::refused},
    {"OneNotDumpable", without_capabilities, not_dumpable, PathChoice::refused},
};
std::string name_of(const testing::TestParamInfo<StrangerPair>& info) { return info.param.name; }

// ---- what the two see

/// What `softrnic resource show qp` says of the way of a queue pair.
PathChoice way_of(std::uint32_t qpn) {
  auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  auto pages = client ? (*client)->pages() : Unexpected{client.error()};
  if (!pages) return PathChoice::other_host;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (!reader || page.ended_ns != 0) continue;
    for (const control::QpView& qp : reader->qps())
      if (qp.body.qpn == qpn) return static_cast<PathChoice>(qp.body.path);
  }
  return PathChoice::other_host;
}

/// Whether the daemon may look at this process: else its page, which tells the way, is shown to nobody. To
/// look at one that is not dumpable takes capabilities in the user namespace where its program was started,
/// which is not that of an ordinary user's test.
bool is_shown() { return prctl(PR_GET_DUMPABLE) != 0 || test::has_all_users(); }

/// How many processes' memory this one has mapped, its own included.
std::size_t mapped_processes() {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string place, access, offset, device, inode, name;
       maps >> place >> access >> offset >> device >> inode;) {
    std::getline(maps, name);
    if (name.find("softrnic-direct") != std::string::npos) inodes.insert(inode);
  }
  return inodes.size();
}

/// Messages until the way is decided: what came before it goes by packets.
int talk(const Line& line, PathChoice way, std::uint32_t salt, std::uint32_t peer_salt) {
  Side side;
  Card peer;
  if (!meet(side, line, peer)) return fail(refused, "a connection");
  if (exchange(side, kMessages, salt, peer_salt) != 0) return fail(not_as_expected, "messages");
  for (Patience patience{std::chrono::seconds(10)}; is_shown() && way_of(side.qp->qp_num) != way;)
    if (patience.over()) return fail(not_as_expected, "the way that was expected");
  if (!line.tell() || !line.hear()) return fail(no_peer, "a peer");
  if (exchange(side, kMessages, salt, peer_salt) != 0) return fail(not_as_expected, "more messages");
  const std::size_t expected = way == PathChoice::direct ? 2 : 1;
  if (mapped_processes() != expected) return fail(not_as_expected, "other memory");
  return line.tell() && line.hear() && side.close() ? done : fail(refused, "an end");
}

class StrangersTest : public testing::TestWithParam<StrangerPair> {};

TEST_P(StrangersTest, ShareMemoryIfTheyMayAttachToEachOtherAndTalkAnyway) {
  const StrangerPair& pair = GetParam();
  Worker holder({"hold"}, UniqueFd());  // and with it a daemon that may look at everybody
  ASSERT_TRUE(holder.reports(1));
  Lines lines;
  const pid_t a = start_child([&] { return pair.a() ? talk(Line(lines.a.get()), pair.way, 1, 2) : refused; });
  const pid_t b = start_child([&] { return pair.b() ? talk(Line(lines.b.get()), pair.way, 2, 1) : refused; });
  EXPECT_EQ(end_of(a, 60), done);
  EXPECT_EQ(end_of(b, 60), done);
}

INSTANTIATE_TEST_SUITE_P(Pairs, StrangersTest, testing::ValuesIn(kPairs), name_of);

}  // namespace
}  // namespace softrnic::robust
