// Two programs of one network namespace that live in different surroundings: seccomp filters, namespaces,
// limits, a /proc that hides, file systems that cannot be written to. Whatever one of them lacks, they
// exchange messages, or are told why not.
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "control/page_reader.h"
#include "workers.h"

namespace softrnic::robust {
namespace {

using Words = std::vector<std::string>;
constexpr int kNotHere = 4;

struct Surrounding {
  const char* name;
  Words words;        ///< of hardship.h
  bool user = false;  ///< an ordinary user's, whom the other one has to be too
};

const Surrounding kUsual{"Usual", {}};
const std::vector<Surrounding> kShortages{
    {"NoAttach", {"without-attach"}},
    {"NoRseq", {"without-rseq", "anew"}},
    {"NoMemfd", {"without-memfd", "anew"}},
    {"NoMembarrier", {"without-membarrier", "anew"}},
    {"NoPidfd", {"without-pidfd", "anew"}},
    {"NoMemlock", {"limit", "memlock", "0"}},
    {"NoProc", {"without-proc"}},
    {"ReadOnly", {"read-only", "anew"}},
    {"HiddenProc", {"hidden-proc", "as-nobody", "anew"}, true},
};

// Every set of namespaces. A user namespace comes first: who enters one may enter the others.
std::vector<Surrounding> namespaces() {
  std::vector<Surrounding> all;
  static const char* const kNames[] = {"None",  "User",      "Pid",      "UserPid",
                                       "Mount", "UserMount", "PidMount", "UserPidMount"};
  for (unsigned set = 0; set < 8; ++set) {
    Surrounding one{kNames[set], {}};
    if ((set & 1) != 0) one.words.push_back("in-user-namespace");
    if ((set & 4) != 0) one.words.push_back("in-mount-namespace");
    if ((set & 2) != 0) one.words.push_back("in-pid-namespace");
    all.push_back(one);
  }
  return all;
}

Words words_of(const Surrounding& own, const Surrounding& other, const Words& part) {
  Words words = own.words;
  if (other.user && !own.user) words.push_back("as-nobody");
  words.insert(words.end(), part.begin(), part.end());
  return words;
}

class SurroundingsTest : public testing::Test {
 protected:
  void SetUp() override { end_daemon(); }
  void TearDown() override { end_daemon(); }

  /// A daemon that neither's surroundings bind.
  static Worker keep_daemon(bool user) {
    Worker holder(user ? Words{"as-nobody", "hold"} : Words{"hold"}, UniqueFd());
    EXPECT_TRUE(holder.reports(1));
    return holder;
  }

  /// False: this system does not make such surroundings.
  static bool talk(const Surrounding& a, const Surrounding& b) {
    const Words part{"pair", "64"};
    auto [first, second] = pair_of(words_of(a, b, part), words_of(b, a, part));
    const int one = first.wait(), other = second.wait();
    if (one == kNotHere || other == kNotHere) return false;
    EXPECT_EQ(one, 0) << a.name << " beside " << b.name;
    EXPECT_EQ(other, 0) << b.name << " beside " << a.name;
    return true;
  }
};

TEST_F(SurroundingsTest, WhoLacksSomethingTalksToWhoDoesNot) {
  unsigned met = 0;
  for (const Surrounding& one : kShortages) {
    end_daemon();
    const Worker holder = keep_daemon(one.user);
    met += talk(one, kUsual) && talk(kUsual, one) && talk(one, one) ? 1 : 0;
  }
  EXPECT_GE(met, 3U) << "filters and limits are made anywhere";
}

TEST_F(SurroundingsTest, WhoLacksSomethingStartsTheDaemon) {
  for (const Surrounding& one : kShortages) {
    end_daemon();
    Words words = one.words;
    words.push_back("once");
    const int status = Worker(words, UniqueFd()).wait();
    EXPECT_TRUE(status == 0 || status == kNotHere) << one.name << ": " << status;
  }
}

TEST_F(SurroundingsTest, AllNamespacesTalkToAll) {
  const auto all = namespaces();
  const Worker holder = keep_daemon(false);
  if (!talk(kUsual, all[7])) GTEST_SKIP() << "no namespaces on this system";
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a; b < all.size(); ++b) EXPECT_TRUE(talk(all[a], all[b]));
}

/// The way that the queue pairs of a process go, by its page.
control::PathChoice way_of(pid_t process) {
  const auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  if (!client) return control::PathChoice::other_host;
  const auto pages = (*client)->pages();
  if (!pages) return control::PathChoice::other_host;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (page.pid != process || !reader) continue;
    for (const control::QpView& qp : reader->qps()) return static_cast<control::PathChoice>(qp.body.path);
  }
  return control::PathChoice::other_host;
}

// Beside a program that lacks nothing.
TEST_F(SurroundingsTest, AQueuePairSaysWhyItDoesNotGoDirect) {
  if (std::getenv("SOFTRNIC_PATH") != nullptr) GTEST_SKIP() << "packets";
  const Words part{"stream"};
  const std::pair<Surrounding, control::PathChoice> ways[] = {{kUsual, control::PathChoice::direct},
                                                              {kShortages[0], control::PathChoice::forbidden},
                                                              {kShortages[1], control::PathChoice::no_rseq}};
  for (const auto& [surrounding, way] : ways) {
    end_daemon();
    const Worker holder = keep_daemon(false);
    Pair both = pair_of(words_of(surrounding, kUsual, part), part);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {  // the row is written now and then
      expect_traffic(both);
    } while (way_of(both.first.pid()) != way && std::chrono::steady_clock::now() < limit && !HasFailure());
    EXPECT_EQ(static_cast<int>(way_of(both.first.pid())), static_cast<int>(way)) << surrounding.name;
    EXPECT_EQ(way_of(both.second.pid()), control::PathChoice::direct) << surrounding.name;
    end(both);
  }
}

}  // namespace
}  // namespace softrnic::robust
