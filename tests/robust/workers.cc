#include "workers.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "witness.h"

namespace softrnic::robust {
namespace {

using Clock = std::chrono::steady_clock;

std::string worker_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  const std::string own(path.data(), static_cast<std::size_t>(length > 0 ? length : 0));
  return own.substr(0, own.rfind('/')) + "/robust_worker";
}

std::pair<UniqueFd, UniqueFd> connected_sockets() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool wait_readable(int fd, int milliseconds) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, milliseconds) == 1;
}

std::size_t entries_of(const std::string& path) {
  DIR* const folder = opendir(path.c_str());
  if (folder == nullptr) return 0;
  std::size_t count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

}  // namespace

Worker::Worker(const std::vector<std::string>& words, UniqueFd peer) {
  auto [own, its] = connected_sockets();
  std::string path = worker_path();
  std::vector<char*> arguments{path.data()};
  std::vector<std::string> copies = words;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // what is already where it shall be would stay close-on-exec
  const UniqueFd high_peer(fcntl(peer.get(), F_DUPFD_CLOEXEC, 10));
  const UniqueFd high_tester(fcntl(its.get(), F_DUPFD_CLOEXEC, 10));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (high_peer) posix_spawn_file_actions_adddup2(&actions, high_peer.get(), 3);
  posix_spawn_file_actions_adddup2(&actions, high_tester.get(), 4);
  EXPECT_EQ(posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments.data(), environ), 0) << path;
  posix_spawn_file_actions_destroy(&actions);
  tester_ = std::move(own);
  pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

Worker::~Worker() {
  if (!pidfd_) return;
  kill_now();
  wait();
}

void Worker::kill_now() { syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0); }

bool Worker::fresh_reports(unsigned count) {
  char step = 0;
  while (recv(tester_.get(), &step, 1, MSG_DONTWAIT) == 1) {
  }
  return reports(count);
}

bool Worker::reports(unsigned count) {
  for (; count > 0; --count) {
    char step = 0;
    if (!wait_readable(tester_.get(), kHangSeconds * 1000) || recv(tester_.get(), &step, 1, 0) != 1)
      return false;
  }
  return true;
}

int Worker::wait(int seconds) {
  if (!wait_readable(pidfd_.get(), seconds * 1000)) return kHung;
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pidfd_.reset();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t start_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  EXPECT_GT(child, 0);
  return child;
}

int end_of(pid_t child, int seconds) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  const bool ended = wait_readable(pidfd.get(), seconds * 1000);
  if (!ended) {
    show_threads(child);
    kill(child, SIGKILL);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (!ended) return kHung;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::pair<Worker, Worker> pair_of(const std::vector<std::string>& first,
                                  const std::vector<std::string>& second) {
  auto [left, right] = connected_sockets();
  Worker one(first, std::move(left));
  return {std::move(one), Worker(second, std::move(right))};
}

std::optional<control::StatusReply> daemon_status() {
  const auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  if (!client) return std::nullopt;
  const auto status = (*client)->status();
  if (!status) return std::nullopt;
  return *status;
}

bool daemon_gets_to(const std::function<bool(const control::StatusReply&)>& condition) {
  const auto deadline = Clock::now() + std::chrono::seconds(kHangSeconds);
  while (Clock::now() < deadline) {
    const auto status = daemon_status();
    if (status && condition(*status)) return true;
  }
  return false;
}

void end_daemon() {
  std::vector<UniqueFd> ending;
  // a keeper that has just been forked still has the daemon's name, and takes no notice of the signal
  for (const char* name : {"softrnicd", "softrnicd-keep"})
    for (const pid_t process : test::processes_named(name))
      ending.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  for (const UniqueFd& process : ending) syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0);
  for (const UniqueFd& process : ending) {
    EXPECT_TRUE(!process || wait_readable(process.get(), 10000)) << "the daemon or its keeper lives on";
  }
}

std::size_t descriptors_of(pid_t process) { return entries_of("/proc/" + std::to_string(process) + "/fd"); }
std::size_t threads_of(pid_t process) { return entries_of("/proc/" + std::to_string(process) + "/task"); }

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

void kill_stranger(pid_t process, int signal) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  ASSERT_TRUE(pidfd);
  ASSERT_EQ(syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0), 0);
  ASSERT_TRUE(wait_readable(pidfd.get(), 10000));
}

}  // namespace softrnic::robust
