// Daemon and keeper die, and nobody new comes: the survivors start the next daemon, and it knows what they
// have.
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cm_couple.h"
#include "control/cm_messages.h"
#include "tests/abi/later_calls.h"

namespace softrnic::robust {
namespace {

UniqueFd process(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }
void kill_it(const UniqueFd& victim) { syscall(SYS_pidfd_send_signal, victim.get(), SIGKILL, nullptr, 0); }
bool ends(const UniqueFd& victim) {
  pollfd ended{victim.get(), POLLIN, 0};
  return poll(&ended, 1, 10000) == 1;
}

// ---- what is seen from outside

std::string output_of(const std::string& command) {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  std::string own(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  own = own.substr(0, own.rfind('/')) + "/../bin/softrnic " + command;
  std::string out;
  std::FILE* const pipe = popen(own.c_str(), "r");
  std::array<char, 4096> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) out += part.data();
  if (pipe != nullptr) pclose(pipe);
  return out;
}

bool sees_page_of(pid_t program) {
  const auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  if (!client) return false;
  const auto pages = (*client)->pages();
  if (!pages) return false;
  for (const control::PageFd& page : *pages)
    if (page.pid == program && page.ended_ns == 0) return true;
  return false;
}

bool sees_listener_of(pid_t program) {
  const auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  if (!client) return false;
  const auto ids = (*client)->cm_ids();
  if (!ids) return false;
  for (const control::CmIdListing& id : *ids)
    if (id.pid == program && std::string(id.state) == "LISTEN") return true;
  return false;
}

/// Without anybody new: who asks starts no daemon.
void expect_next_daemon(const CmCouple& couple, pid_t old, std::uint32_t lanes) {
  EXPECT_TRUE(
      daemon_gets_to([&](const auto& status) { return status.pid != old && status.lanes_used >= lanes; }));
  EXPECT_TRUE(daemon_gets_to([&](const auto&) { return sees_listener_of(couple.server_process()); }));
  for (const pid_t program : couple.processes())
    EXPECT_TRUE(daemon_gets_to([&](const auto&) { return sees_page_of(program); }));
}

bool both_are_there() { return process_named("softrnicd") > 0 && process_named("softrnicd-keep") > 0; }

struct DaemonAndKeeper {
  UniqueFd daemon = process(process_named("softrnicd"));
  UniqueFd keeper = process(process_named("softrnicd-keep"));

  /// Both at once.
  void kill() const {
    ASSERT_TRUE(daemon && keeper);
    kill_it(daemon);
    kill_it(keeper);
    ASSERT_TRUE(ends(daemon) && ends(keeper));
  }
};

DaemonAndKeeper daemon_and_keeper() {
  EXPECT_TRUE(daemon_gets_to([](const auto&) { return both_are_there(); }));
  return {};
}

void kill_daemon_and_keeper() { daemon_and_keeper().kill(); }

TEST(NextDaemon, IsStartedBySurvivorsAndKnowsTheirLanesListenersAndPages) {
  Pair pair = pair_of({"stream", "16"});
  {
    CmCouple couple;
    EXPECT_TRUE(couple.talk('c'));
    expect_traffic(pair);
    for (int round = 0; round < 4; ++round) {
      const pid_t old = process_named("softrnicd");
      kill_daemon_and_keeper();
      expect_next_daemon(couple, old, 4);
      EXPECT_TRUE(couple.talk('c')) << "a new connection, and those that were there";
      expect_traffic(pair);
    }
    const std::string listed = output_of("resource show cm_id");
    EXPECT_NE(listed.find("pid " + std::to_string(couple.server_process())), std::string::npos) << listed;
  }
  end(pair);
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

TEST(NextDaemon, ComesAfterADaemonAloneToo) {
  CmCouple couple;
  EXPECT_TRUE(couple.talk('c'));
  for (int round = 0; round < 3; ++round) {
    const pid_t old = process_named("softrnicd");
    kill_stranger(old, SIGKILL);
    EXPECT_TRUE(couple.talk('c')) << "who needs the daemon waits for the next";
    expect_next_daemon(couple, old, 2);
  }
}

// It is the keeper's daemon that gets another one.
TEST(NextDaemon, HasAKeeperThatKnowsAllLanesThoughTheFirstWasKilled) {
  CmCouple couple;
  EXPECT_TRUE(couple.talk('c'));
  for (int round = 0; round < 2; ++round) {
    const pid_t keeper = process_named("softrnicd-keep");
    kill_stranger(keeper, SIGKILL);
    EXPECT_TRUE(daemon_gets_to([&](const auto&) {
      const pid_t now = process_named("softrnicd-keep");
      return now > 0 && now != keeper;
    }));
  }
  const pid_t old = process_named("softrnicd");
  kill_stranger(old, SIGKILL);
  expect_next_daemon(couple, old, 2);
  EXPECT_TRUE(couple.talk('c'));
}

// Nobody undoes that.
TEST(NextDaemon, DoesNotComeWhereTheLastOneWasToldToEnd) {
  Pair pair = pair_of({"stream", "16"});
  expect_traffic(pair);
  for (const int number : {0, SIGTERM, SIGINT}) {
    ASSERT_EQ(Worker({"once"}, UniqueFd()).wait(), 0);
    const UniqueFd daemon = process(process_named("softrnicd"));
    ASSERT_TRUE(daemon);
    if (number != 0) {
      syscall(SYS_pidfd_send_signal, daemon.get(), number, nullptr, 0);
    } else {
      EXPECT_TRUE((*control::Client::connect())->shutdown());
    }
    ASSERT_TRUE(ends(daemon));
    expect_traffic(pair);
    EXPECT_FALSE(daemon_status()) << number;
    EXPECT_EQ(process_named("softrnicd"), 0);
  }
  end(pair);
}

TEST(NextDaemon, ComesToManySurvivors) {
  constexpr unsigned kMany = 24;
  std::vector<Worker> survivors;
  for (unsigned i = 0; i < kMany; ++i) survivors.emplace_back(std::vector<std::string>{"hold"}, UniqueFd());
  for (Worker& survivor : survivors) ASSERT_TRUE(survivor.reports(1));
  const pid_t old = process_named("softrnicd");
  kill_daemon_and_keeper();
  EXPECT_TRUE(daemon_gets_to([&](const auto& status) {
    return status.pid != old && status.lanes_used == kMany && status.clients == kMany + 1;
  }));
  for (Worker& survivor : survivors) survivor.tell_to_end();
  for (Worker& survivor : survivors) EXPECT_EQ(survivor.wait(), 0);
  EXPECT_TRUE(daemon_gets_to(is_quiet)) << "they have given their lanes back to it";
}

// ---- ends that come from outside

TEST(NextDaemon, ComesAfterTheEndOfThePidNamespaceThatHeldTheLast) {
  end_daemon();
  Worker starter({"in-pid-namespace", "hold"}, UniqueFd());
  if (!starter.reports(1)) GTEST_SKIP() << "no PID namespaces here";
  CmCouple couple;
  EXPECT_TRUE(couple.talk('c'));
  const UniqueFd daemon = process(process_named("softrnicd")),
                 keeper = process(process_named("softrnicd-keep"));
  ASSERT_TRUE(daemon && keeper);
  starter.kill_now();
  ASSERT_TRUE(ends(daemon) && ends(keeper));
  expect_next_daemon(couple, 0, 2);
  EXPECT_TRUE(couple.talk('c'));
}

bool write_file(const std::string& path, const std::string& text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Kills processes by a cgroup that they are moved to, in a mount namespace of its own. 0, or an errno.
int kill_by_cgroup(const std::set<pid_t>& victims) {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", "/sys/fs/cgroup", "cgroup2", 0, nullptr) != 0)
    return EPERM;
  const std::string group = "/sys/fs/cgroup/softrnic-test-" + std::to_string(getpid());
  if (mkdir(group.c_str(), 0755) != 0) return EPERM;
  bool killed = access((group + "/cgroup.kill").c_str(), W_OK) == 0;
  const int error = killed ? EIO : EPERM;
  for (const pid_t victim : victims)
    killed = killed && write_file(group + "/cgroup.procs", std::to_string(victim));
  killed = killed && write_file(group + "/cgroup.kill", "1");
  while (rmdir(group.c_str()) != 0 && errno == EBUSY) continue;  // until its last process has gone
  return killed ? 0 : error;
}

TEST(NextDaemon, ComesAfterACgroupThatWasKilledWithTheLast) {
  end_daemon();
  CmCouple couple;
  EXPECT_TRUE(couple.talk('c'));
  const pid_t daemon = process_named("softrnicd"), keeper = process_named("softrnicd-keep");
  const UniqueFd daemon_fd = process(daemon), keeper_fd = process(keeper);
  ASSERT_TRUE(daemon_fd && keeper_fd);
  const int error = in_child([&] { return kill_by_cgroup({daemon, keeper}); });
  if (error == EPERM) GTEST_SKIP() << "no cgroups of version 2 here";
  ASSERT_EQ(error, 0);
  ASSERT_TRUE(ends(daemon_fd) && ends(keeper_fd));
  expect_next_daemon(couple, daemon, 2);
  EXPECT_TRUE(couple.talk('c'));
}

// ---- events that the program writes itself, of an id that the next daemon knows and of one that it does not

/// The arguments of the next two events of `id`; 0 for what is not of rdma_write_cm_event.
std::vector<std::uint64_t> arguments(rdma_event_channel* channel, const rdma_cm_id* id) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < 2; ++i) {
    pollfd waiting{channel->fd, POLLIN, 0};
    rdma_cm_event* event = nullptr;
    if (poll(&waiting, 1, 10000) != 1 || rdma_get_cm_event(channel, &event) != 0) break;
    const bool written = event->id == id && abi_test::later::type_of(*event) == abi_test::later::kUser;
    out.push_back(written ? abi_test::later::argument_of(*event) : 0);
    rdma_ack_cm_event(event);
  }
  return out;
}

struct ProgramOfTwoIds {
  rdma_event_channel* channels[2] = {rdma_create_event_channel(), rdma_create_event_channel()};
  rdma_cm_id* ids[2] = {};

  bool make() {
    for (int i = 0; i < 2; ++i)
      if (channels[i] == nullptr || rdma_create_id(channels[i], &ids[i], nullptr, RDMA_PS_TCP) != 0)
        return false;
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(7);
    rdma_cm_event* event = nullptr;
    return rdma_resolve_addr(ids[1], nullptr, reinterpret_cast<sockaddr*>(&to), 2000) == 0 &&
           rdma_get_cm_event(channels[1], &event) == 0 && rdma_ack_cm_event(event) == 0;
  }
  bool write(std::uint64_t argument) {
    for (rdma_cm_id* id : ids)
      if (abi_test::later::write_cm_event(id, abi_test::later::kUser, 0, argument) != 0) return false;
    return true;
  }
};

TEST(NextDaemon, HandsOverTheEventsThatProgramsWroteToTheLast) {
  const int failed = in_child([] {
    ProgramOfTwoIds program;
    if (!program.make() || !program.write(1)) return 1;
    kill_daemon_and_keeper();
    if (!program.write(2)) return 2;
    for (int i = 0; i < 2; ++i)
      if (arguments(program.channels[i], program.ids[i]) != std::vector<std::uint64_t>{1, 2}) return 3 + i;
    if (rdma_resolve_route(program.ids[1], 1000) == 0 || errno != ENOENT) return 5;
    for (rdma_cm_id* id : program.ids)
      if (rdma_destroy_id(id) != 0) return 6;
    return 0;
  });
  EXPECT_EQ(failed, 0)
      << "1, 2: not written; 3: lost; 4: lost with the state of its id; 5: known; 6: not destroyed";
}

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

/// Until it has taken the count of an event, and waits for the daemon's answer.
void await_question(pid_t thread, int channel) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (char state = 0; is_readable(channel) || state != 'S';) {
    std::FILE* const file = std::fopen(path.c_str(), "r");
    if (file == nullptr || std::fscanf(file, "%*d %*s %c", &state) != 1) state = 0;
    if (file != nullptr) std::fclose(file);
  }
}

// A thread that has asked the last daemon for an event holds a count of that one. The next counts anew.
TEST(NextDaemon, CountsWhatAThreadThatAskedTheLastOneFetches) {
  const int failed = in_child([] {
    ProgramOfTwoIds program;
    if (!program.make() || !program.write(1)) return 1;
    const DaemonAndKeeper last = daemon_and_keeper();
    syscall(SYS_pidfd_send_signal, last.daemon.get(), SIGSTOP, nullptr, 0);
    std::atomic<pid_t> asks{0};
    bool told = false;
    std::thread asking([&] {
      asks = gettid();
      asks.notify_one();
      rdma_cm_event* event = nullptr;
      told = rdma_get_cm_event(program.channels[0], &event) == 0 && rdma_ack_cm_event(event) == 0;
    });
    asks.wait(0);
    await_question(asks, program.channels[0]->fd);
    last.kill();
    asking.join();
    if (!told) return 2;
    return is_readable(program.channels[0]->fd) ? 3 : 0;
  });
  EXPECT_EQ(failed, 0) << "1: not written; 2: lost; 3: counted twice";
}

// ---- a process that is about to go is not held up, and starts nothing

TEST(NextDaemon, DoesNotHoldUpWhoCloses) {
  Worker program({"hold"}, UniqueFd());
  ASSERT_TRUE(program.reports(1));
  const UniqueFd daemon = process(process_named("softrnicd")),
                 keeper = process(process_named("softrnicd-keep"));
  const auto begin = std::chrono::steady_clock::now();
  kill_it(daemon);
  kill_it(keeper);
  program.tell_to_end();
  EXPECT_EQ(program.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(11)) << "a search takes longer";
}

}  // namespace
}  // namespace softrnic::robust
