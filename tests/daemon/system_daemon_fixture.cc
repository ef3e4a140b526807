#include "tests/daemon/system_daemon_fixture.h"

#include <grp.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "control/channel.h"
#include "control/local_name.h"
#include "control/spawn.h"
#include "tests/support/namespaces.h"

namespace softrnic::tests {

const control::ConnectOptions kOfAll{.daemon_path = {}, .spawn = false, .kind = control::DaemonKind::of_all};

bool become(uid_t user) {
  return setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 &&
         prctl(PR_SET_DUMPABLE, 1) == 0;
}

int as_user(uid_t user, const std::function<int()>& body) {
  return Child([&] { return become(user) ? body() : kNoUser; }).result();
}

ino_t inode_of(const UniqueFd& fd) {
  struct stat status {};
  return fstat(fd.get(), &status) == 0 ? status.st_ino : 0;
}

bool refused_with(int error, const control::Error& got) { return got.failure.error == error; }

bool sets_to_zero(const UniqueFd& socket, int option) {
  const int zero = 0;
  return setsockopt(socket.get(), SOL_SOCKET, option, &zero, sizeof zero) == 0;
}

// ---- a program

namespace {

std::unique_ptr<control::Client> connection() {
  auto client = control::Client::connect(kOfAll);
  return client ? std::move(*client) : nullptr;
}

}  // namespace

Program::Program() : client_(connection()), cm_(connection()) {
  if (!client_) return;
  auto taken = client_->take_lane();
  if (!taken) return;
  lane = std::move(*taken);
  page_ = make_page();
  static_cast<void>(client_->register_page(page_.get()));
  if (const auto opened = cm_.open_channel(events_)) channel = *opened;
  if (const auto made = cm_.create_id(channel, RDMA_PS_TCP, IBV_QPT_RC, 1)) id = made->id;
}

UniqueFd Program::locks() {
  auto request = control::make_message<control::ShareMemory>();
  request.pid = getpid();
  auto given = client_->share_memory(request);
  return given ? std::move(*given) : UniqueFd();
}

// ---- the daemon

void SystemDaemonTest::SetUp() {
  if (geteuid() != 0 || !test::has_all_users()) GTEST_SKIP() << "needs root";
  DaemonTest::SetUp();
  if (!IsSkipped() && !HasFatalFailure()) start({});
}

void SystemDaemonTest::TearDown() {
  if (daemon_ > 0) stop();
}

void SystemDaemonTest::start(const std::vector<std::string>& options) {
  std::vector<std::string> words{control::find_daemon(), "--system", "--user", std::to_string(kNobody)};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  daemon_ = fork();
  if (daemon_ == 0) {
    execv(arguments[0], arguments.data());
    _exit(1);
  }
  wait_for_daemon();
}

void SystemDaemonTest::start_as_unit(uid_t user) {
  std::string path = control::find_daemon(), option = "--system";
  daemon_ = fork();
  if (daemon_ == 0) {
    auto listener = control::listen_as(control::system_daemon_name(), 8);
    if (!listener || dup2(listener->get(), 3) != 3 || !become(user)) _exit(1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", "1", 1);
    char* arguments[] = {path.data(), option.data(), nullptr};
    execv(arguments[0], arguments);
    _exit(1);
  }
  wait_for_daemon();
}

void SystemDaemonTest::wait_for_daemon() {
  while (!control::Client::connect(kOfAll) && waitpid(daemon_, nullptr, WNOHANG) == 0) sched_yield();
}

void SystemDaemonTest::stop(int signal) {
  kill(daemon_, signal);
  waitpid(daemon_, nullptr, 0);
  daemon_ = -1;
}

}  // namespace softrnic::tests
