// The connection manager of a daemon that runs: two processes connect over QP1, and one of them is killed.
#include <signal.h>
#include <sys/wait.h>

#include "tests/daemon/caller.h"

namespace softrnic::tests {
namespace {

/// 0, or the number of the step that failed.
int connect_actively(Caller& caller) {
  if (const int failed = caller.find_route(loopback(kPort))) return failed;
  if (!caller.daemon().connect(caller.id(), parameters(0x10001), {})) return 5;
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
    ASSERT_TRUE(server.daemon().accept(passive, 2, parameters(0x20001), {}));
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
