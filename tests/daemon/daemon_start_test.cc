// How the daemon starts and ends.
#include <arpa/inet.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/reason_id.h"
#include "control/channel.h"
#include "control/spawn.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

using control::Client;
using control::ConnectOptions;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t status_mask(pid_t pid, const std::string& name) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = text.find(name + ":\t");
  return at == std::string::npos ? ~0ULL : std::stoull(text.substr(at + name.size() + 2, 16), nullptr, 16);
}

TEST_F(DaemonTest, TwentyStartersGetOneDaemon) {
  std::array<int, 2> gate, answers;
  ASSERT_EQ(pipe(gate.data()), 0);
  ASSERT_EQ(pipe(answers.data()), 0);
  constexpr int kStarters = 20;
  for (int i = 0; i < kStarters; ++i) {
    if (fork() != 0) continue;
    close(gate[1]);
    char scrap;
    pid_t daemon = read(gate[0], &scrap, 1) == 0 ? 0 : -1;  // all wait for the gate to close
    auto client = Client::connect();
    if (client) daemon = (*client)->daemon_pid();
    _exit(write(answers[1], &daemon, sizeof daemon) == sizeof daemon ? 0 : 1);
  }
  close(gate[0]);
  close(gate[1]);
  std::set<pid_t> daemons;
  for (int i = 0; i < kStarters; ++i) {
    pid_t daemon = 0;
    ASSERT_EQ(read(answers[0], &daemon, sizeof daemon), static_cast<ssize_t>(sizeof daemon));
    daemons.insert(daemon);
  }
  while (wait(nullptr) > 0) {
  }
  close(answers[0]);
  close(answers[1]);
  EXPECT_EQ(daemons.size(), 1U);
  EXPECT_GT(*daemons.begin(), 0);
}

TEST_F(DaemonTest, ThreadsMayStartItToo) {
  std::array<pid_t, 8> daemons{};
  std::vector<std::thread> threads;
  for (pid_t& daemon : daemons)
    threads.emplace_back([&daemon] {
      auto client = Client::connect();
      if (client) daemon = (*client)->daemon_pid();
    });
  for (std::thread& thread : threads) thread.join();
  for (const pid_t daemon : daemons) EXPECT_EQ(daemon, daemons[0]);
  EXPECT_GT(daemons[0], 0);
}

TEST_F(DaemonTest, StartLeavesNoTraceInTheProgram) {
  static volatile sig_atomic_t deaths = 0;
  deaths = 0;
  struct sigaction count {
  }, before{};
  count.sa_handler = [](int) { deaths = deaths + 1; };
  sigaction(SIGCHLD, &count, &before);
  signal(SIGUSR1, SIG_IGN);
  sigset_t block, mask;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR2);
  sigprocmask(SIG_BLOCK, &block, &mask);
  const UniqueFd secret(open("/dev/zero", O_RDONLY));  // without close-on-exec
  const auto client = connect();
  ASSERT_TRUE(client);
  sigset_t after;
  sigprocmask(SIG_SETMASK, &mask, &after);
  sigaction(SIGCHLD, &before, nullptr);
  signal(SIGUSR1, SIG_DFL);
  EXPECT_EQ(deaths, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "a child that the program did not make";
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&after, SIGUSR1), 0);

  const pid_t daemon = client->daemon_pid();
  const auto bit = [](int number) { return 1ULL << (number - 1); };
  EXPECT_EQ(status_mask(daemon, "SigIgn"), bit(SIGPIPE));
  EXPECT_EQ(status_mask(daemon, "SigBlk") & bit(SIGUSR2), 0U);
  EXPECT_NE(getpgid(daemon), getpgid(0));
  for (int fd = 0; fd < 64; ++fd) {
    std::array<char, 64> target{};
    const std::string path = "/proc/" + std::to_string(daemon) + "/fd/" + std::to_string(fd);
    if (readlink(path.c_str(), target.data(), target.size() - 1) <= 0) continue;
    EXPECT_STRNE(target.data(), "/dev/zero");
  }
}

/// A process that leads a session with a terminal of its own, and starts the daemon there. Returns the
/// terminal's other side.
UniqueFd start_in_a_terminal(pid_t& leader, pid_t& daemon) {
  std::array<int, 2> answer;
  int terminal = -1;
  if (pipe(answer.data()) != 0) return {};
  leader = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (leader == 0) {
    const auto client = Client::connect();
    const pid_t pid = client ? (*client)->daemon_pid() : -1;
    if (write(answer[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    for (;;) pause();
  }
  close(answer[1]);
  if (read(answer[0], &daemon, sizeof daemon) != sizeof daemon) daemon = -1;
  close(answer[0]);
  return UniqueFd(terminal);
}

TEST_F(DaemonTest, OutlivesTheTerminalItWasStartedIn) {
  pid_t leader = -1, daemon = -1;
  UniqueFd terminal = start_in_a_terminal(leader, daemon);
  ASSERT_TRUE(terminal);
  ASSERT_GT(daemon, 0);
  const auto client = Client::connect();
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->daemon_pid(), daemon);
  terminal.reset();  // the kernel sends SIGHUP
  int status = 0;
  ASSERT_EQ(waitpid(leader, &status, 0), leader);
  EXPECT_TRUE(WIFSIGNALED(status));
  const auto later = Client::connect();
  ASSERT_TRUE(later);
  EXPECT_EQ((*later)->daemon_pid(), daemon);
  constexpr std::size_t kTerminal = 4;  // of the words behind the name: proc_pid_stat(5)
  const std::string stat = read_file("/proc/" + std::to_string(daemon) + "/stat");
  std::istringstream words(stat.substr(stat.rfind(')') + 1));
  std::string word;
  for (std::size_t i = 0; i <= kTerminal; ++i) words >> word;
  EXPECT_EQ(word, "0") << "its terminal";
}

TEST_F(DaemonTest, AMissingDaemonIsSaid) {
  ConnectOptions options;
  options.daemon_path = "/nonexistent/softrnicd";
  const auto client = Client::connect(options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().failure.error, ENOENT);
  EXPECT_NE(client.error().text.find("/nonexistent/softrnicd"), std::string::npos) << client.error().text;
}

TEST_F(DaemonTest, ADaemonThatDiesAtOnceIsSaid) {
  ConnectOptions options;
  options.daemon_path = "/bin/true";
  const auto client = Client::connect(options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().failure.reason.id, ReasonId::daemon_unreachable);
}

// Not kept waiting, with a daemon that goes round and round.
TEST_F(DaemonTest, WithoutDescriptorsClientsAreTold) {
  const auto first = connect();
  ASSERT_NE(first, nullptr);
  const auto status = first->status();
  ASSERT_TRUE(status);
  const std::string folder = "/proc/" + std::to_string(status->pid) + "/fd";
  const auto used = static_cast<rlim_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  rlimit old{};
  ASSERT_EQ(prlimit(status->pid, RLIMIT_NOFILE, nullptr, &old), 0);
  // A client takes three of them; each of them may be the one that is missing.
  for (rlim_t more = 0; more < 3; ++more) {
    const rlimit tight{used + more, old.rlim_max};
    ASSERT_EQ(prlimit(status->pid, RLIMIT_NOFILE, &tight, nullptr), 0);
    for (int again = 0; again < 3; ++again) EXPECT_EQ(connect_error().failure.error, EMFILE) << more;
  }
  ASSERT_EQ(prlimit(status->pid, RLIMIT_NOFILE, &old, nullptr), 0);
  EXPECT_NE(connect(), nullptr);
}

TEST_F(DaemonTest, EndsWhenIdle) {
  const std::string path = control::find_daemon();
  std::array<int, 2> report;
  ASSERT_EQ(pipe(report.data()), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    execl(path.c_str(), path.c_str(), "--idle", "1", "--report-fd", std::to_string(report[1]).c_str(),
          nullptr);
    _exit(127);
  }
  close(report[1]);
  control::StartupReport said;
  ASSERT_EQ(read(report[0], &said, sizeof said), static_cast<ssize_t>(sizeof said));
  close(report[0]);
  EXPECT_EQ(said.error, 0) << said.text;
  auto client = connect();
  EXPECT_EQ(client->daemon_pid(), daemon);
  client.reset();
  EXPECT_TRUE(wait_gone(daemon));
  int status = -1;
  EXPECT_EQ(waitpid(daemon, &status, 0), daemon);
  EXPECT_EQ(status, 0);
}

TEST_F(DaemonTest, ShutdownEndsItAndTheNextOneHasThePort) {
  auto client = connect();
  const pid_t first = client->daemon_pid();
  ASSERT_TRUE(client->take_lane());
  ASSERT_TRUE(client->shutdown());
  EXPECT_EQ(client->devices().error().failure.reason.id, ReasonId::daemon_gone);
  EXPECT_EQ(client->read_notification().error().failure.reason.id, ReasonId::daemon_gone);
  EXPECT_TRUE(client->took_leave());
  client = connect();
  EXPECT_NE(client->daemon_pid(), first);
  EXPECT_TRUE(client->take_lane());
}

int bind_port_as(uid_t uid) {
  if (setuid(uid) != 0) return 1;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(4791);
  return bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any);
}

TEST_F(DaemonTest, PortTakenSaysByWhom) {
  const Child holder([] { return bind_port_as(0); });
  ASSERT_EQ(holder.result(), 0);
  const control::Error error = connect_error();
  EXPECT_EQ(error.failure.error, EADDRINUSE);
  EXPECT_EQ(error.failure.reason.id, ReasonId::port_taken_user);
  EXPECT_EQ(error.failure.reason.figures[0], 0U);
  EXPECT_EQ(error.failure.reason.figures[1], static_cast<std::uint64_t>(holder.pid()));
}

TEST_F(DaemonTest, AllWhoStartAtOnceAreToldWhyItCannotBe) {
  const Child holder([] { return bind_port_as(0); });
  ASSERT_EQ(holder.result(), 0);
  std::vector<std::thread> threads;
  std::array<ReasonId, 8> reasons{};
  for (ReasonId& reason : reasons) threads.emplace_back([&] { reason = connect_error().failure.reason.id; });
  for (std::thread& thread : threads) thread.join();
  for (const ReasonId reason : reasons) EXPECT_EQ(reason, ReasonId::port_taken_user);
}

TEST_F(DaemonTest, PortTakenByAnotherUser) {
  const Child holder([] { return bind_port_as(kNobody); });
  if (holder.result() != 0) GTEST_SKIP() << "needs root";
  const control::Error error = connect_error();
  EXPECT_EQ(error.failure.reason.id, ReasonId::port_taken_user);
  EXPECT_EQ(error.failure.reason.figures[0], kNobody);
}

TEST_F(DaemonTest, NameHeldByAnotherUserIsRefused) {
  const Child squatter([] {
    if (setuid(kNobody) != 0) return 1;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const control::AbstractName name = control::daemon_name(0);
    return bind(fd, name.get(), name.length) == 0 && listen(fd, 8) == 0 ? 0 : 1;
  });
  if (squatter.result() != 0) GTEST_SKIP() << "needs root";
  const control::Error error = connect_error();
  EXPECT_EQ(error.failure.error, EACCES);
  EXPECT_EQ(error.failure.reason.id, ReasonId::daemon_name_taken);
  EXPECT_EQ(error.failure.reason.figures[0], kNobody);
}

}  // namespace
}  // namespace softrnic::tests
