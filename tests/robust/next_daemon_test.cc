// Daemon and keeper die, and nobody new comes: the survivors start the next daemon, and it knows what they have.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "control/cm_messages.h"
#include "patience.h"
#include "tests/abi/cm_fixture.h"
#include "two_children.h"

namespace softrnic::robust {
namespace {

using abi_test::address_of;
using abi_test::generic;

constexpr std::size_t kLetter = 64;

UniqueFd process(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }
void kill_it(const UniqueFd& victim) { syscall(SYS_pidfd_send_signal, victim.get(), SIGKILL, nullptr, 0); }
bool ends(const UniqueFd& victim) {
  pollfd ended{victim.get(), POLLIN, 0};
  return poll(&ended, 1, 10000) == 1;
}

// ---- programs with a listener, and programs that connect to it

ibv_qp_init_attr queues() {
  ibv_qp_init_attr attributes{};
  attributes.cap = {
      .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  return attributes;
}

bool completes(ibv_cq* cq) {
  Patience patience{std::chrono::seconds(20)};
  ibv_wc wc{};
  int got = 0;
  while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
    if (patience.over()) return false;
  return got == 1 && wc.status == IBV_WC_SUCCESS;
}

/// One end of a connection with a receive posted.
struct End {
  rdma_cm_id* id = nullptr;
  ibv_mr* mr = nullptr;
  std::array<char, 2 * kLetter> memory{};

  bool prepare(rdma_cm_id* of) {
    id = of;
    ibv_qp_init_attr attributes = queues();
    if (rdma_create_qp(id, nullptr, &attributes) != 0) return false;
    mr = rdma_reg_msgs(id, memory.data(), memory.size());
    return mr != nullptr && rdma_post_recv(id, nullptr, memory.data(), kLetter, mr) == 0;
  }
  bool say(char what) {
    std::memset(memory.data() + kLetter, what, kLetter);
    return rdma_post_send(id, nullptr, memory.data() + kLetter, kLetter, mr, 0) == 0 &&
           completes(id->send_cq);
  }
  bool hears(char what) {
    if (!completes(id->recv_cq)) return false;
    for (std::size_t i = 0; i < kLetter; ++i)
      if (memory[i] != what) return false;
    return rdma_post_recv(id, nullptr, memory.data(), kLetter, mr) == 0;
  }
};

bool next_is(rdma_event_channel* channel, rdma_cm_event_type wanted, rdma_cm_id** id = nullptr) {
  rdma_cm_event* event = nullptr;
  if (!abi_test::readable(channel->fd, 20000) || rdma_get_cm_event(channel, &event) != 0) return false;
  const bool is = event->event == wanted && event->status == 0;
  if (!is) fail(not_as_expected, rdma_event_str(wanted), rdma_event_str(event->event));
  if (id != nullptr) *id = event->id;
  rdma_ack_cm_event(event);
  return is;
}

/// Accepts one connection after the other, and answers on all of them what was said on any.
int serve(const Line& tester) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  auto any = address_of("127.0.0.1");
  if (channel == nullptr || rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) != 0 ||
      rdma_bind_addr(listener, generic(any)) != 0 || rdma_listen(listener, 8) != 0)
    return fail(refused, "a listener");
  if (!tester.tell(rdma_get_src_port(listener))) return no_peer;
  std::vector<std::unique_ptr<End>> ends;
  char order = 0;
  while (tester.hear(order) && order != 'e') {
    if (order == 'c') {
      rdma_cm_id* id = nullptr;
      if (!next_is(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &id)) return fail(refused, "a request");
      ends.push_back(std::make_unique<End>());
      rdma_conn_param parameters{};
      if (!ends.back()->prepare(id) || rdma_accept(id, &parameters) != 0) return fail(refused, "accept");
      if (!next_is(channel, RDMA_CM_EVENT_ESTABLISHED)) return fail(refused, "established");
    }
    for (const auto& end : ends)
      if (!end->hears('q') || !end->say('a')) return fail(wrong_bytes, "a question");
    if (!tester.tell()) return no_peer;
  }
  return done;
}

bool connect(End& end, std::uint16_t port) {
  rdma_cm_id* id = nullptr;
  auto to = address_of("127.0.0.1", port);
  rdma_conn_param parameters{};
  parameters.retry_count = parameters.rnr_retry_count = 7;
  return rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) == 0 &&
         rdma_resolve_addr(id, nullptr, generic(to), 5000) == 0 && rdma_resolve_route(id, 5000) == 0 &&
         end.prepare(id) && rdma_connect(id, &parameters) == 0;
}

int visit(const Line& tester) {
  std::uint16_t port = 0;
  if (!tester.hear(port)) return no_peer;
  std::vector<std::unique_ptr<End>> ends;
  char order = 0;
  while (tester.hear(order) && order != 'e') {
    if (order == 'c') {
      ends.push_back(std::make_unique<End>());
      if (!connect(*ends.back(), port)) return fail(refused, "a connection");
    }
    for (const auto& end : ends)
      if (!end->say('q') || !end->hears('a')) return fail(wrong_bytes, "an answer");
    if (!tester.tell()) return no_peer;
  }
  return done;
}

/// A server and a visitor, who are connected as often as the test says.
class Couple {
 public:
  Couple() {
    server_ = start_child([this] { return serve(Line(to_server_.b.get())); });
    visitor_ = start_child([this] { return visit(Line(to_visitor_.b.get())); });
    std::uint16_t port = 0;
    EXPECT_TRUE(server().hear(port));
    EXPECT_TRUE(visitor().tell(port));
  }
  ~Couple() {
    server().tell('e');
    visitor().tell('e');
    EXPECT_EQ(end_of(server_), done);
    EXPECT_EQ(end_of(visitor_), done);
  }
  Couple(const Couple&) = delete;
  Couple& operator=(const Couple&) = delete;

  /// 'c': one connection more; any other: those that are there. All of them talk.
  bool talk(char order) const {
    return server().tell(order) && visitor().tell(order) && server().hear() && visitor().hear();
  }
  std::set<pid_t> processes() const { return {server_, visitor_}; }
  pid_t server_process() const { return server_; }

 private:
  Line server() const { return Line(to_server_.a.get()); }
  Line visitor() const { return Line(to_visitor_.a.get()); }
  Lines to_server_, to_visitor_;
  pid_t server_ = -1, visitor_ = -1;
};

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
void expect_next_daemon(const Couple& couple, pid_t old, std::uint32_t lanes) {
  EXPECT_TRUE(
      daemon_gets_to([&](const auto& status) { return status.pid != old && status.lanes_used >= lanes; }));
  EXPECT_TRUE(daemon_gets_to([&](const auto&) { return sees_listener_of(couple.server_process()); }));
  for (const pid_t program : couple.processes())
    EXPECT_TRUE(daemon_gets_to([&](const auto&) { return sees_page_of(program); }));
}

using Pair = std::pair<Worker, Worker>;
void expect_traffic(Pair& pair) {
  EXPECT_TRUE(pair.first.fresh_reports(3));
  EXPECT_TRUE(pair.second.fresh_reports(3));
}
void end(Pair& pair) {
  pair.first.tell_to_end();
  pair.second.tell_to_end();
  EXPECT_EQ(pair.first.wait(), 0);
  EXPECT_EQ(pair.second.wait(), 0);
}

bool both_are_there() { return process_named("softrnicd") > 0 && process_named("softrnicd-keep") > 0; }

/// Both at once.
void kill_daemon_and_keeper() {
  ASSERT_TRUE(daemon_gets_to([](const auto&) { return both_are_there(); }));
  const UniqueFd daemon = process(process_named("softrnicd")),
                 keeper = process(process_named("softrnicd-keep"));
  ASSERT_TRUE(daemon && keeper);
  kill_it(daemon);
  kill_it(keeper);
  ASSERT_TRUE(ends(daemon) && ends(keeper));
}

TEST(NextDaemon, IsStartedBySurvivorsAndKnowsTheirLanesListenersAndPages) {
  Pair pair = pair_of({"stream", "16"});
  {
    Couple couple;
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
  Couple couple;
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
  Couple couple;
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
  Couple couple;
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
  Couple couple;
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
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

}  // namespace
}  // namespace softrnic::robust
