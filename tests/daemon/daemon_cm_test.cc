// The connection manager of a daemon that runs: two processes connect over QP1, and one of them is killed.
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/cm_client.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

constexpr std::uint16_t kPort = 7174;

/// A process's channel and one id on it.
class Caller {
 public:
  explicit Caller(std::unique_ptr<control::Client> client) : daemon_(std::move(client)) {
    channel_ = daemon_.open_channel(events_.get()).value();
    id_ = daemon_.create_id(channel_, RDMA_PS_TCP, IBV_QPT_RC, 1).value().id;
  }
  control::CmClient& daemon() { return daemon_; }
  control::CmNumber id() const { return id_; }

  /// The next event within ten seconds; -1: none came.
  int next(control::CmEventReply* out = nullptr) {
    pollfd ready{events_.get(), POLLIN, 0};
    std::uint64_t count = 0;
    if (poll(&ready, 1, 10'000) != 1 || read(events_.get(), &count, sizeof count) != sizeof count) return -1;
    const auto event = daemon_.next_event(channel_);
    if (!event || event->present == 0) return -1;
    if (out != nullptr) *out = *event;
    return static_cast<int>(event->event);
  }

 private:
  UniqueFd events_{eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
  control::CmClient daemon_;
  std::uint32_t channel_ = 0;
  control::CmNumber id_ = 0;
};

/// 0, or the number of the step that failed.
int connect_actively(Caller& caller) {
  const sockaddr_storage none{};
  if (!caller.daemon().resolve_address(caller.id(), none, loopback(kPort), 2000)) return 1;
  if (caller.next() != RDMA_CM_EVENT_ADDR_RESOLVED) return 2;
  if (!caller.daemon().resolve_route(caller.id(), 2000)) return 3;
  if (caller.next() != RDMA_CM_EVENT_ROUTE_RESOLVED) return 4;
  control::CmConnectionParameters parameters;
  parameters.valid = 1;
  parameters.qpn = 0x10001;
  if (!caller.daemon().connect(caller.id(), parameters, {})) return 5;
  if (caller.next() != RDMA_CM_EVENT_CONNECT_RESPONSE) return 6;
  return caller.daemon().accept(caller.id(), 1, {}, {}) ? 0 : 7;
}

TEST_F(DaemonTest, AKilledPeerIsADisconnectedOne) {
  auto watcher = connect();
  Caller server(connect());
  ASSERT_TRUE(server.daemon().bind(server.id(), loopback(kPort)));
  ASSERT_TRUE(server.daemon().listen(server.id(), 1));
  control::CmNumber passive = 0;
  {
    // the child's part needs the server's, so it goes on while this process waits for the request
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    const pid_t child = fork();
    if (child == 0) {
      Caller caller(connect());
      const int failed = connect_actively(caller);
      [[maybe_unused]] const ssize_t told = write(report[1], &failed, sizeof failed);
      pause();
      _exit(0);
    }
    control::CmEventReply event;
    ASSERT_EQ(server.next(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
    passive = event.id;
    control::CmConnectionParameters parameters;
    parameters.valid = 1;
    parameters.qpn = 0x20001;
    ASSERT_TRUE(server.daemon().accept(passive, 2, parameters, {}));
    ASSERT_EQ(server.next(), RDMA_CM_EVENT_ESTABLISHED);
    int failed = -1;
    ASSERT_EQ(read(report[0], &failed, sizeof failed), static_cast<ssize_t>(sizeof failed));
    EXPECT_EQ(failed, 0);
    const auto ids = watcher->cm_ids();
    ASSERT_TRUE(ids);
    ASSERT_EQ(ids->size(), 3U);
    EXPECT_STREQ((*ids)[0].state, "LISTEN");
    EXPECT_STREQ((*ids)[1].state, "CONNECT");
    EXPECT_EQ((*ids)[1].pid, child);
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(report[0]);
    close(report[1]);
  }
  control::CmEventReply event;
  EXPECT_EQ(server.next(&event), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(event.cookie, 2U);
  EXPECT_EQ(watcher->cm_ids()->size(), 2U);
}

}  // namespace
}  // namespace softrnic::tests
