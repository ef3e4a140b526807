// Messages between two processes of one host, small and so large that the receiver fetches them: where the
// kernel forbids that, when one side is killed, stopped or asleep, and when the source is deregistered.
// DIRECT_ROUNDS is how often the random tests repeat.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "control/page_reader.h"
#include "hardship.h"
#include "two_children.h"

namespace softrnic::robust {
namespace {

/// What comes in lies in the first half, what goes out in the second
constexpr std::size_t kHalf = Side::kBytes / 2;
constexpr std::uint8_t kSent = 0xaa, kOwn = 0x55;
constexpr std::uint8_t kShortTimeout = 10;  ///< 4 ms to the first retry
constexpr unsigned kMaxInFlight = 4;        ///< messages under way

/// A kind of message; `bytes` of it.
struct Kind {
  const char* name;
  ibv_wr_opcode opcode;
  std::uint32_t bytes;

  bool is_received() const { return opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM; }
};
constexpr Kind kKinds[] = {{"SmallSend", IBV_WR_SEND, 64},
                           {"LargeSend", IBV_WR_SEND, kHalf},
                           {"SmallWriteWithImmediate", IBV_WR_RDMA_WRITE_WITH_IMM, 64},
                           {"LargeWriteWithImmediate", IBV_WR_RDMA_WRITE_WITH_IMM, kHalf},
                           {"LargeWrite", IBV_WR_RDMA_WRITE, kHalf},
                           {"LargeRead", IBV_WR_RDMA_READ, kHalf}};
std::string name_of(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

bool post(Side& side, const Card& peer, const Kind& kind) {
  const bool read = kind.opcode == IBV_WR_RDMA_READ;
  ibv_sge sge{side.card().address + (read ? 0 : kHalf), kind.bytes, side.mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = kind.opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = peer.address + (read ? kHalf : 0);
  wr.wr.rdma.rkey = peer.rkey;
  return ibv_post_send(side.qp, &wr, &bad) == 0;
}

bool post_receive(Side& side) {
  ibv_sge sge{side.card().address, kHalf, side.mr->lkey};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return ibv_post_recv(side.qp, &wr, &bad) == 0;
}

/// Opens and connects; what goes out is full of kSent.
bool begin(Side& side, const Line& line, Card& peer, std::uint8_t timeout = 14) {
  if (!meet(side, line, peer, timeout, 0)) return false;
  std::memset(memory_of(side) + kHalf, kSent, kHalf);
  return line.tell() && line.hear();
}

/// Takes what comes until `line` tells to end.
int receive_until_told(Side& side, const Kind& kind, const Line& line) {
  while (kind.is_received()) {
    // what WRITEs go to is not the receiver's, even between messages
    if (kind.opcode == IBV_WR_SEND) std::memset(memory_of(side), kOwn, kind.bytes);
    if (!post_receive(side)) return refused;
    ibv_wc wc{};
    int got = 0;
    while (got == 0 && !line.told()) got = ibv_poll_cq(side.cq, 1, &wc);
    if (got == 0) break;
    if (got < 0 || wc.status != IBV_WC_SUCCESS) return not_as_expected;
    if (!holds_only(memory_of(side), kSent, kind.bytes)) return wrong_bytes;
  }
  return line.hear() ? done : no_peer;
}

/// Sends until that fails: the status of the first completion that says so; IBV_WC_SUCCESS:
/// something else went wrong.
ibv_wc_status send_until_it_fails(Side& side, const Card& peer, const Kind& kind) {
  for (unsigned i = 0; i < kMaxInFlight; ++i)
    if (!post(side, peer, kind)) return IBV_WC_SUCCESS;
  ibv_wc wc{};
  while (side.next(wc) && wc.status == IBV_WC_SUCCESS) {
    if (kind.opcode == IBV_WR_RDMA_READ && !holds_only(memory_of(side), kSent, kind.bytes))
      return IBV_WC_SUCCESS;
    if (!post(side, peer, kind)) return IBV_WC_SUCCESS;
  }
  return wc.status;
}

/// Sends `count` messages.
bool send_many(Side& side, const Card& peer, const Kind& kind, unsigned count) {
  unsigned posted = 0;
  for (unsigned done = 0; done < count; ++done) {
    for (; posted < count && posted < done + kMaxInFlight; ++posted)
      if (!post(side, peer, kind)) return false;
    ibv_wc wc{};
    if (!side.next(wc) || wc.status != IBV_WC_SUCCESS) return false;
  }
  return kind.opcode != IBV_WR_RDMA_READ || holds_only(memory_of(side), kSent, kind.bytes);
}

// ---- restrictions

/// The way that the queue pairs of this process go, by its page.
control::PathChoice path_of_this_process() {
  auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  auto pages = client ? (*client)->pages() : Unexpected{client.error()};
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (!reader) continue;
    for (const control::QpView& qp : reader->qps())
      if (page.pid == getpid()) return static_cast<control::PathChoice>(qp.body.path);
  }
  return control::PathChoice::other_host;
}

bool by_packets() { return std::getenv("SOFTRNIC_PATH") != nullptr; }

int send_restricted(const Kind& kind, const Line& line, control::PathChoice way) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer)) return refused;
  if (!send_many(side, peer, kind, 200)) return not_as_expected;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (path_of_this_process() != way)  // the row is written now and then
    if (std::chrono::steady_clock::now() > limit) return 10 + static_cast<int>(path_of_this_process());
  return line.tell() && side.close() ? done : refused;
}

int receive(const Kind& kind, const Line& line) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer)) return refused;
  if (const int failed = receive_until_told(side, kind, line)) return failed;
  return side.close() ? done : refused;
}

/// Who lacks what.
struct Restriction {
  const char* sender;  ///< a word of hardship.h; nullptr: nothing
  const char* receiver;
  control::PathChoice way;  ///< of the sender
};
constexpr Restriction kRestrictions[] = {
    {"without-attach", nullptr, control::PathChoice::forbidden},
    {nullptr, "without-attach", control::PathChoice::direct},
    {"without-attach", "without-attach", control::PathChoice::forbidden},
    {nullptr, "in-pid-namespace", control::PathChoice::refused},
};

bool begin_hardship(const char* name) {
  std::string words[] = {"", name == nullptr ? "" : name};
  char* pointers[] = {words[0].data(), words[1].data()};
  return name == nullptr || undergo(2, pointers) == 1;
}

class MessagesTest : public testing::TestWithParam<Kind> {};
class MessagesDeathTest : public testing::TestWithParam<Kind> {};

TEST_P(MessagesTest, GoThroughTheRingWhereAFilterForbidsMoreAndByPacketsWhereTheKernelDoes) {
  for (const Restriction& restriction : kRestrictions) {
    const control::PathChoice way = by_packets() ? control::PathChoice::wire_only : restriction.way;
    Lines lines;
    const pid_t receiver = start_child([&] {
      return begin_hardship(restriction.receiver) ? receive(GetParam(), Line(lines.a.get())) : refused;
    });
    const pid_t sender = start_child([&] {
      return begin_hardship(restriction.sender) ? send_restricted(GetParam(), Line(lines.b.get()), way)
                                                : refused;
    });
    EXPECT_EQ(end_of(sender), done) << "restriction " << &restriction - kRestrictions;
    EXPECT_EQ(end_of(receiver), done) << "restriction " << &restriction - kRestrictions;
  }
}

// ---- death

int send_to_the_dead(const Kind& kind, const Line& line, const Line& tester) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer, kShortTimeout) || !tester.tell()) return refused;
  if (send_until_it_fails(side, peer, kind) != IBV_WC_RETRY_EXC_ERR) return not_as_expected;
  return side.close() ? done : refused;
}

/// Who receives until the tester tells, and then has its memory for itself.
int outlive_the_sender(const Kind& kind, const Line& line, const Line& tester) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer)) return refused;
  if (const int failed = receive_until_told(side, kind, tester)) return failed;
  std::uint8_t* const memory = memory_of(side);
  if (ibv_dereg_mr(side.mr) != 0) return refused;
  side.mr = nullptr;
  std::memset(memory, kOwn, Side::kBytes);
  pass(std::chrono::microseconds(50));
  return holds_only(memory, kOwn) && side.close() ? done : wrong_bytes;
}

struct Round {
  explicit Round(const Kind& chosen) : kind(chosen) {}

  const Kind& kind;
  Lines lines, to_receiver, to_sender;
  pid_t receiver = start_child(
      [this] { return outlive_the_sender(kind, Line(lines.a.get()), Line(to_receiver.b.get())); });
  pid_t sender =
      start_child([this] { return send_to_the_dead(kind, Line(lines.b.get()), Line(to_sender.b.get())); });
};

/// Kills one of them while it is at it. Somebody else has its lane at once.
void kill_one(const Round& round, pid_t victim, std::mt19937& dice) {
  ASSERT_NO_FATAL_FAILURE(
      kill_at_random(Line(round.to_sender.a.get()), victim, std::chrono::microseconds(500), dice));
  Worker newcomer({"once"}, UniqueFd());
  EXPECT_EQ(newcomer.wait(), 0);
}

TEST_P(MessagesDeathTest, WhoSendsToTheDeadSeesRetriesExceeded) {
  std::mt19937 dice(5);
  for (unsigned i = 0; i < rounds(3); ++i) {
    const Round round(GetParam());
    ASSERT_NO_FATAL_FAILURE(kill_one(round, round.receiver, dice));
    ASSERT_EQ(end_of(round.sender), done) << "round " << i;
  }
}

TEST_P(MessagesDeathTest, WhoReceivesFromTheDeadHasItsMemory) {
  std::mt19937 dice(6);
  for (unsigned i = 0; i < rounds(3); ++i) {
    const Round round(GetParam());
    ASSERT_NO_FATAL_FAILURE(kill_one(round, round.sender, dice));
    ASSERT_TRUE(Line(round.to_receiver.a.get()).tell());
    ASSERT_EQ(end_of(round.receiver), done) << "round " << i;
  }
}

// ---- a stop

int send_to_the_stopped(const Kind& kind, const Line& line, const Line& tester) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer, 18) || !tester.tell()) return refused;  // 1 s to the first retry
  while (!tester.told())
    if (!send_many(side, peer, kind, 8)) return not_as_expected;
  return line.tell() && side.close() ? done : refused;
}

TEST_P(MessagesTest, GoOnAfterTheReceiverWasStopped) {
  Lines lines, to_sender;
  const pid_t receiver = start_child([&] { return receive(GetParam(), Line(lines.a.get())); });
  const pid_t sender = start_child(
      [&] { return send_to_the_stopped(GetParam(), Line(lines.b.get()), Line(to_sender.b.get())); });
  const Line tester(to_sender.a.get());
  EXPECT_TRUE(tester.hear());
  kill(receiver, SIGSTOP);
  pass(std::chrono::milliseconds(700));
  kill(receiver, SIGCONT);
  EXPECT_TRUE(tester.tell());
  EXPECT_EQ(end_of(sender), done);
  EXPECT_EQ(end_of(receiver), done);
}

// ---- deregistration of the source

/// Takes the source away while messages are under way, and has its memory for itself.
int take_source_away(const Kind& kind, const Line& line, std::mt19937& dice) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer, kShortTimeout)) return refused;
  for (unsigned i = 0; i < kMaxInFlight; ++i)
    if (!post(side, peer, kind)) return refused;
  pass(std::chrono::nanoseconds(dice() % 100'000));
  std::uint8_t* const memory = memory_of(side);
  if (ibv_dereg_mr(side.mr) != 0) return refused;
  side.mr = nullptr;
  std::memset(memory + kHalf, kOwn, kHalf);
  for (unsigned i = 0; i < kMaxInFlight; ++i) {
    ibv_wc wc{};
    if (!side.next(wc)) return no_peer;
    if (wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR) continue;
    if (wc.status != IBV_WC_LOC_PROT_ERR) return 100 + wc.status;
  }
  return line.tell() && side.close() ? done : refused;
}

TEST_P(MessagesTest, NothingIsFetchedAfterDeregistration) {
  const unsigned count = rounds(20);
  Lines lines;
  const auto repeat = [count](auto round) {
    std::mt19937 dice(7);
    int result = done;
    for (unsigned i = 0; i < count && result == done; ++i) result = round(dice);
    return result;
  };
  const pid_t receiver = start_child(
      [&] { return repeat([&](std::mt19937&) { return receive(GetParam(), Line(lines.a.get())); }); });
  const pid_t sender = start_child([&] {
    return repeat(
        [&](std::mt19937& dice) { return take_source_away(GetParam(), Line(lines.b.get()), dice); });
  });
  const int seconds = 30 + static_cast<int>(count / 20);
  EXPECT_EQ(end_of(sender, seconds), done);
  EXPECT_EQ(end_of(receiver, seconds), done);
}

// ---- sleep

/// Sleeps in recv() while a message comes, and has it when it wakes up.
int sleeping_receiver(const Kind& kind, const Line& line) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer) || !post_receive(side)) return refused;
  if (!line.hear()) return no_peer;
  ibv_wc wc{};
  // the acknowledgement that lets the sender speak leaves before the completion is shown
  const bool as_expected = kind.is_received() ? side.next(wc) : ibv_poll_cq(side.cq, 1, &wc) == 0;
  if (!as_expected) return not_as_expected;
  const bool came = kind.opcode == IBV_WR_RDMA_READ || holds_only(memory_of(side), kSent, kind.bytes);
  return came ? done : wrong_bytes;
}

int send_to_the_sleeper(const Kind& kind, const Line& line) {
  Side side(Side::own_memory());
  Card peer;
  if (!begin(side, line, peer) || !send_many(side, peer, kind, 1)) return refused;
  return line.tell() ? done : no_peer;
}

TEST_P(MessagesTest, ReachAReceiverThatSleepsElsewhere) {
  Lines lines;
  const pid_t receiver = start_child([&] { return sleeping_receiver(GetParam(), Line(lines.a.get())); });
  const pid_t sender = start_child([&] { return send_to_the_sleeper(GetParam(), Line(lines.b.get())); });
  EXPECT_EQ(end_of(sender), done);
  EXPECT_EQ(end_of(receiver), done);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MessagesTest, testing::ValuesIn(kKinds), name_of);
INSTANTIATE_TEST_SUITE_P(Kinds, MessagesDeathTest, testing::ValuesIn(kKinds), name_of);

}  // namespace
}  // namespace softrnic::robust
