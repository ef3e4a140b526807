#include "tests/daemon/daemon_fixture.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/support/namespaces.h"

namespace softrnic::tests {
namespace {

constexpr int kPatience = 10000;  ///< milliseconds; more than any of this takes on a busy machine

bool readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, kPatience) == 1;
}

}  // namespace

UniqueFd make_page() {
  UniqueFd page(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (ftruncate(page.get(), 4096) != 0 || fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) page.reset();
  return page;
}

bool shell(const std::string& command) { return std::system(command.c_str()) == 0; }

sockaddr_storage loopback(std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_storage storage{};
  std::memcpy(&storage, &in, sizeof in);
  return storage;
}

Child::Child(const std::function<int()>& body) {
  int go[2], back[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(go[1]);
    close(back[0]);
    const int value = body();
    char scrap;
    if (write(back[1], &value, sizeof value) < 0) _exit(1);
    _exit(read(go[0], &scrap, 1) < 0 ? 1 : 0);
  }
  close(go[0]);
  close(back[1]);
  go_.reset(go[1]);
  const bool told = read(back[0], &result_, sizeof result_) == sizeof result_;
  close(back[0]);
  if (told) return;
  result_ = -1;  // it has died
  kill();
}

Child::~Child() {
  if (!go_) return;
  // a word, as closing is not enough: later children have copies of this end
  if (write(go_.get(), "x", 1) != 1) ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  go_.reset();
}

void DaemonTest::SetUp() {
  if (!test::enter_network_namespace()) GTEST_SKIP() << "no namespaces here";
  ASSERT_TRUE(shell("ip link set lo up"));
}

void DaemonTest::TearDown() {
  control::ConnectOptions options;
  options.spawn = false;
  if (auto client = control::Client::connect(options)) (void)(*client)->shutdown();
}

std::unique_ptr<control::Client> DaemonTest::connect() {
  auto client = control::Client::connect();
  if (client) return std::move(*client);
  ADD_FAILURE() << client.error().text;
  return nullptr;
}

control::Error DaemonTest::connect_error() {
  auto client = control::Client::connect();
  if (!client) return client.error();
  ADD_FAILURE() << "connected";
  return {};
}

bool DaemonTest::wait_status(control::Client& client,
                             const std::function<bool(const control::StatusReply&)>& fits) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
  while (std::chrono::steady_clock::now() < end) {
    const auto status = client.status();
    if (!status) return false;
    if (fits(*status)) return true;
    sched_yield();
  }
  return false;
}

std::optional<control::Notification> DaemonTest::next_notification(control::Client& client) {
  if (!readable(client.notification_fd())) return std::nullopt;
  auto next = client.read_notification();
  return next ? *next : std::nullopt;
}

bool wait_gone(pid_t pid) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return !process || readable(process.get());
}

}  // namespace softrnic::tests
