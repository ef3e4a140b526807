// Runs a test body in a process and network namespace of its own, with a daemon of its own; and a node:
// everything one side of a connection needs.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/adapter.h"
#include "rnic/completion_queue.h"
#include "rnic/memory_region.h"
#include "rnic/protection_domain.h"
#include "rnic/queue_pair.h"
#include "tests/support/namespaces.h"

namespace softrnic::engine::test {

/// The daemon that was built beside this test program; empty when there is none.
inline std::string built_daemon() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return {};
  const std::string program(path, static_cast<std::size_t>(length));
  const std::string daemon = program.substr(0, program.rfind('/')) + "/../bin/softrnicd";
  return access(daemon.c_str(), X_OK) == 0 ? daemon : std::string();
}

/// As root of a user namespace where it takes one: the daemon is to have the capabilities of this process,
/// or it may not look at it.
inline bool enter_namespace() {
  if (!softrnic::test::enter_network_namespace()) return false;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return up;
}

/// Starts the daemon and waits until it listens. The library would do it by itself, but starts it with
/// clone(), after which a thread sanitizer no longer sees the locks that the calling thread takes.
inline bool start_daemon(const std::string& path) {
  int report[2];
  if (pipe(report) != 0) return false;
  const pid_t daemon = fork();
  if (daemon == 0) {
    dup2(report[1], 3);
    execl(path.c_str(), path.c_str(), "--report-fd", "3", "--idle", "1", static_cast<char*>(nullptr));
    _exit(1);
  }
  close(report[1]);
  char answer[4096];
  const bool reported = read(report[0], answer, sizeof answer) > 0;
  close(report[0]);
  return reported;
}

inline constexpr int kSkipped = 77;

/// Runs `body` in a child; its failures are this test's.
inline void in_namespace(const std::function<void()>& body) {
  const std::string daemon = built_daemon();
  if (daemon.empty()) GTEST_SKIP() << "softrnicd is not built";
  const pid_t child = fork();
  if (child == 0) {
    setenv("SOFTRNIC_DAEMON", daemon.c_str(), 1);
    if (!enter_namespace()) _exit(kSkipped);
    if (!start_daemon(daemon)) _exit(1);
    alarm(120);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no namespaces here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

struct Address {
  std::uint32_t qpn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t buffer = 0;
  wire::Gid gid;
};

class Node {
 public:
  static constexpr std::size_t kBuffer = 1 << 20;

  explicit Node(ibv_qp_type type = IBV_QPT_RC) {
    auto devices = Adapter::instance().devices();
    if (!devices || devices->empty()) {
      ADD_FAILURE() << (devices ? "no device" : devices.error().text);
      return;
    }
    auto opened = Adapter::instance().open(devices->front().index);
    if (!opened) {
      ADD_FAILURE() << opened.error().text;
      return;
    }
    context = std::move(*opened);
    pd = std::move(*rnic::ProtectionDomain::create(*context));
    cq = std::move(*rnic::CompletionQueue::create(*context, {.entries = 1000}));
    memory.resize(kBuffer);
    const auto base = reinterpret_cast<std::uint64_t>(memory.data());
    mr = std::move(*rnic::MemoryRegion::create(*pd, {memory.data(), kBuffer, base, kAccess}));
    rnic::QueuePairInit init;
    init.type = type;
    init.send_cq = init.recv_cq = cq.get();
    init.cap = {
        .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    auto made = rnic::QueuePair::create(*pd, init);
    if (!made) {
      ADD_FAILURE() << describe(made.error().reason);
      return;
    }
    qp = std::move(*made);
  }

  bool ready() const { return qp != nullptr; }

  Address address() const {
    for (const device::GidEntry& entry : context->info()->port.gids) {
      if (entry.gid.is_ipv4()) {
        return {qp->qpn().value, mr->key().value, reinterpret_cast<std::uint64_t>(memory.data()), entry.gid};
      }
    }
    ADD_FAILURE() << "no IPv4 GID";
    return {};
  }

  void connect(const Address& peer) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = kAccess;
    modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer.qpn;
    attr.max_dest_rd_atomic = 4;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    std::memcpy(attr.ah_attr.grh.dgid.raw, peer.gid.raw.data(), 16);
    attr.ah_attr.grh.sgid_index = gid_index();
    attr.ah_attr.grh.hop_limit = 64;
    const bool rc = qp->type() == IBV_QPT_RC;
    modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = timeout;
    attr.retry_cnt = retry_count;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 4;
    modify(attr,
           IBV_QP_STATE | IBV_QP_SQ_PSN |
               (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
  }

  void receive(std::size_t at, std::uint32_t bytes) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(memory.data() + at), bytes, mr->key().value};
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    EXPECT_TRUE(qp->post_recv(&wr, &bad));
  }

  void post(ibv_wr_opcode opcode, std::size_t at, std::uint32_t bytes, const Address& peer) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(memory.data() + at), bytes, mr->key().value};
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.rdma.remote_addr = peer.buffer + at;
    wr.wr.rdma.rkey = peer.rkey;
    EXPECT_TRUE(qp->post_send(&wr, &bad));
  }

  /// Polls for a completion; a missing one has status 0 and no queue pair.
  ibv_wc next_completion() {
    ibv_wc wc{};
    const TimePoint limit = monotonic_now() + std::chrono::seconds(20);
    while (cq->poll(1, &wc) == 0 && monotonic_now() < limit) {
    }
    return wc;
  }
  /// The same; a failed or missing one fails the test.
  ibv_wc complete() {
    const ibv_wc wc = next_completion();
    EXPECT_NE(wc.qp_num, 0U) << "no completion";
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << describe({static_cast<ReasonId>(wc.vendor_err), {}});
    return wc;
  }

  void destroy() {
    if (!ready()) return;
    EXPECT_TRUE(qp->destroy());
    qp.reset();
    EXPECT_TRUE(mr->destroy());
    EXPECT_TRUE(cq->destroy());
    cq.reset();
    EXPECT_TRUE(pd->destroy());
    Adapter::instance().close(std::move(context));
  }

  std::unique_ptr<rnic::Context> context;
  std::unique_ptr<rnic::ProtectionDomain> pd;
  std::unique_ptr<rnic::CompletionQueue> cq;
  std::vector<std::uint8_t> memory;
  std::unique_ptr<rnic::MemoryRegion> mr;
  std::unique_ptr<rnic::QueuePair> qp;
  std::uint8_t timeout = 14;  ///< these two for connect()
  std::uint8_t retry_count = 7;

 private:
  static constexpr unsigned kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

  std::uint8_t gid_index() const {
    const auto& gids = context->info()->port.gids;
    for (std::size_t i = 0; i < gids.size(); ++i) {
      if (gids[i].gid.is_ipv4()) return static_cast<std::uint8_t>(i);
    }
    return 0;
  }
  void modify(ibv_qp_attr& attr, int mask) {
    const auto ok = qp->modify(attr, mask);
    EXPECT_TRUE(ok) << describe(ok.error().reason);
  }
};

/// False: one of them is not ready, which fails the test.
inline bool meet(Node& a, Node& b) {
  if (!a.ready() || !b.ready()) return false;
  a.connect(b.address());
  b.connect(a.address());
  return true;
}

inline std::uint64_t counted(Node& node, ib::Counter counter) {
  const std::lock_guard lock(node.qp->lane().mutex());
  return node.qp->counters()[counter];
}

/// Two processes that swap addresses through a socket pair; `first` and `second` are their bodies. `timeout`:
/// as in ibv_qp_attr.
inline void two_processes(const std::function<void(Node&, const Address&, int)>& first,
                          const std::function<void(Node&, const Address&, int)>& second,
                          std::uint8_t timeout = 14) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  const auto side = [timeout](int fd, const auto& body) {
    Node node;
    if (!node.ready()) return;
    node.timeout = timeout;
    const Address mine = node.address();
    Address peer;
    ASSERT_EQ(write(fd, &mine, sizeof mine), static_cast<ssize_t>(sizeof mine));
    ASSERT_EQ(read(fd, &peer, sizeof peer), static_cast<ssize_t>(sizeof peer));
    node.connect(peer);
    char ready = 1;
    ASSERT_EQ(write(fd, &ready, 1), 1);
    ASSERT_EQ(read(fd, &ready, 1), 1);
    body(node, peer, fd);
    node.destroy();
  };
  const pid_t child = fork();
  if (child == 0) {
    close(pair[0]);
    alarm(100);
    side(pair[1], second);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(pair[1]);
  side(pair[0], first);
  close(pair[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace softrnic::engine::test
