// iWARP queue pairs on lanes of their own, each with an engine thread if the test likes, and TCP connections
// between them or to the test itself.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "control/page_writer.h"
#include "engine/engine_thread.h"
#include "engine/lane.h"
#include "engine/stream_ends.h"
#include "link/null_link.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/memory_region.h"
#include "rnic/protection_domain.h"
#include "rnic/queue_pair.h"
#include "tests/unit/engine/one_lane.h"

namespace softrnic::engine::test {

/// Both ends of a TCP connection on loopback. `buffer`: bytes of the socket buffers, 0: the kernel's choice;
/// `mss`: bytes of a segment, 0: the same.
struct TcpPair {
  UniqueFd a, b;

  explicit TcpPair(int buffer = 0, int mss = 0) {
    UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    a.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (const int fd : {listener.get(), a.get()}) {
      set(fd, SOL_SOCKET, SO_RCVBUF, buffer);
      set(fd, SOL_SOCKET, SO_SNDBUF, buffer);
      set(fd, IPPROTO_TCP, 2 /* TCP_MAXSEG */, mss);
    }
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener.get(), generic, length), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), generic, &length), 0);
    EXPECT_EQ(connect(a.get(), generic, length), 0);
    b.reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(static_cast<bool>(b));
  }
  static void set(int fd, int level, int name, int value) {
    const int done = value != 0 ? setsockopt(fd, level, name, &value, sizeof value) : 0;
    EXPECT_EQ(done, 0);
  }
};

inline rnic::StreamStart start_of(bool crc = false, bool markers = false, std::uint64_t token = 7) {
  rnic::StreamStart start;
  start.token = token;
  start.agreement.crc = crc;
  start.agreement.markers_in = start.agreement.markers_out = markers;
  start.agreement.extensions = true;
  start.agreement.ird = start.agreement.ord = 4;
  return start;
}

inline std::shared_ptr<const device::DeviceInfo> iwarp_device() {
  auto info = std::make_shared<device::DeviceInfo>();
  info->kind = device::Kind::iwarp;
  info->port = {
      .up = true, .netdev_mtu = 9000, .active_mtu = 4096, .speed_mbps = 10'000, .gids = {}, .addresses = {}};
  info->port.gids.resize(1);
  info->port.gids[0].gid = wire::Gid::from_ipv4_be(0x0100007f);
  return info;
}

inline constexpr auto kPatience = std::chrono::seconds(30);

/// An adapter with one lane, one CQ and one region.
class StreamHost {
 public:
  explicit StreamHost(bool threaded, std::uint8_t number = 3, std::size_t bytes = 4 << 20,
                      std::unique_ptr<link::Link> link = std::make_unique<link::NullLink>())
      : memory(bytes), lane(number, 1, std::move(link), page_, nullptr, {}, {}) {
    EXPECT_TRUE(ends.open());
    lane.set_stream_options({.ends = &ends, .tap = nullptr, .faults = {}});
    lanes_.lane = &lane;
    pd = std::move(*rnic::ProtectionDomain::create(context));
    cq = std::move(*rnic::CompletionQueue::create(context, {.entries = 4000}));
    mr = std::move(*rnic::MemoryRegion::create(*pd, {memory.data(), bytes, address(0), kAccess}));
    if (threaded) thread_ = std::make_unique<EngineThread>(lane);
  }
  ~StreamHost() {
    for (auto& qp : qps) {
      if (qp != nullptr) {
        EXPECT_TRUE(qp->destroy());
      }
    }
    qps.clear();
    thread_.reset();
    EXPECT_TRUE(mr->destroy());
    EXPECT_TRUE(cq->destroy());
    EXPECT_TRUE(pd->destroy());
  }

  rnic::QueuePair& make_qp() {
    rnic::QueuePairInit init;
    init.send_cq = init.recv_cq = cq.get();
    init.cap = {
        .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64};
    auto made = rnic::QueuePair::create(*pd, init);
    EXPECT_TRUE(made) << describe(made.error().reason);
    qps.push_back(std::move(*made));
    return *qps.back();
  }
  rnic::QueuePair& connect(UniqueFd& socket, const rnic::StreamStart& start = start_of()) {
    rnic::QueuePair& qp = make_qp();
    const auto started = qp.start_stream(socket, start);
    EXPECT_TRUE(started) << describe(started.error().reason);
    return qp;
  }
  std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory.data()) + offset;
  }
  void receive(rnic::QueuePair& qp, std::size_t at, std::uint32_t bytes, std::uint64_t id = 1) {
    ibv_sge sge{address(at), bytes, mr->key().value};
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    EXPECT_TRUE(qp.post_recv(&wr, &bad));
  }
  struct Request {
    ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
    std::size_t from = 0;
    std::uint32_t bytes = 0;
    std::uint64_t to = 0;
    std::uint32_t rkey = 0;
    std::uint64_t id = 2;
    std::uint64_t compare_add = 0, swap = 0;
  };
  Expected<void, Failure> try_post(rnic::QueuePair& qp, const Request& request) {
    ibv_sge sge{address(request.from), request.bytes, mr->key().value};
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.wr_id = request.id;
    wr.opcode = request.opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = &sge;
    wr.num_sge = request.bytes != 0 ? 1 : 0;
    wr.imm_data = htonl(0x1234);
    if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {request.to, request.compare_add, request.swap, request.rkey};
    } else {
      wr.wr.rdma = {request.to, request.rkey};
    }
    return qp.post_send(&wr, &bad);
  }
  void post(rnic::QueuePair& qp, const Request& request) {
    const auto posted = try_post(qp, request);
    EXPECT_TRUE(posted) << describe(posted.error().reason);
  }

  /// The next completion; one that does not come has no queue pair, and fails the test.
  ibv_wc next() {
    ibv_wc wc{};
    const TimePoint limit = monotonic_now() + kPatience;
    while (cq->poll(1, &wc) == 0 && monotonic_now() < limit) {
    }
    EXPECT_NE(wc.qp_num, 0U) << "no completion";
    return wc;
  }
  ibv_wc success() {
    const ibv_wc wc = next();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << describe({static_cast<ReasonId>(wc.vendor_err), {}});
    return wc;
  }
  bool idle() {
    ibv_wc wc;
    return cq->poll(1, &wc) == 0;
  }
  /// What the engine thread does, which no other may do beside it.
  void let_run() {
    if (thread_ == nullptr) lane.service(true);
    std::this_thread::yield();
  }
  /// Waits for it, and lets the lane run.
  bool reaches(rnic::QueuePair& qp, ibv_qp_state state) {
    const TimePoint limit = monotonic_now() + kPatience;
    while (state_of(qp) != state) {
      if (monotonic_now() > limit) return false;
      let_run();
    }
    return true;
  }
  static ibv_qp_state state_of(rnic::QueuePair& qp) {
    const std::lock_guard lock(qp.lane().mutex());
    return qp.state();
  }
  /// Whether its next message waits for a receive.
  static bool held(rnic::QueuePair& qp) {
    const std::lock_guard lock(qp.lane().mutex());
    return qp.stream_endpoint().waits();
  }
  static Expected<void, Failure> modify(rnic::QueuePair& qp, ibv_qp_state to) {
    ibv_qp_attr attributes{};
    attributes.qp_state = to;
    return qp.modify(attributes, IBV_QP_STATE);
  }
  /// What a forked child does, which holds the lane's lock.
  void abandon() {
    page_.detach_from_parent();
    lane.abandon();
  }
  /// The token of the next stream that has ended; 0: none does.
  std::uint64_t next_end() {
    pollfd entry{ends.fd(), POLLIN, 0};
    std::uint64_t token = 0;
    if (poll(&entry, 1, 30'000) > 0) ends.take({&token, 1});
    return token;
  }
  void destroy(rnic::QueuePair& qp) {
    for (auto& each : qps) {
      if (each.get() != &qp) continue;
      EXPECT_TRUE(qp.destroy());
      each.reset();
      return;
    }
  }
  /// The lane may have read from there for the peer just now, which a thread sanitizer cannot learn of TCP.
  void fill(std::size_t from, std::size_t bytes, unsigned seed) {
    const std::lock_guard lock(lane.mutex());
    for (std::size_t i = 0; i < bytes; ++i)
      memory[from + i] = static_cast<std::uint8_t>(i * 7 + i / 251 + seed);
  }

 private:
  static constexpr unsigned kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  control::PageWriter page_;
  OneLane lanes_;

 public:
  std::vector<std::uint8_t> memory;
  StreamEnds ends;
  Lane lane;
  rnic::Context context{iwarp_device(), lanes_};
  std::unique_ptr<rnic::ProtectionDomain> pd;
  std::unique_ptr<rnic::CompletionQueue> cq;
  std::unique_ptr<rnic::MemoryRegion> mr;
  std::vector<std::unique_ptr<rnic::QueuePair>> qps;

 private:
  std::unique_ptr<EngineThread> thread_;
};

}  // namespace softrnic::engine::test
