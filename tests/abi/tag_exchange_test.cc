// A receiver as MPI has it, on tag matching: each message has a tag of its own, buffers are posted before and
// after their messages come, and what comes early is kept by the program. Every message arrives once, whole.
#include <map>
#include <random>
#include <set>

#include "tests/abi/tag_fixture.h"

namespace softrnic::abi_test {
namespace {

class TagExchangeTest : public TagTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  static constexpr std::uint64_t kMessages = 1500;
  static constexpr std::size_t kPlaces = 32, kPlace = 8192, kTagged = kPlaces * kPlace;
  static constexpr std::uint64_t kReceives = 1'000'000;  ///< from here on wr_ids are of receives
  struct Posted {
    std::size_t place;
    std::uint32_t handle;
    bool matched = false;
  };

  void SetUp() override {
    TagTest::SetUp();
    connect_both();
    other_server = std::exchange(server, nullptr);
    other_client = std::exchange(client, nullptr);
    connect_both();
    for (std::size_t i = 0; i < kPlaces; ++i) {
      receive(kReceives + i, i * kPlace, kPlace);
      places.push_back(i);
    }
    for (std::uint64_t i = 0; i < 32; ++i) await_fin(i % 2 == 0 ? client.get() : other_client.get());
  }
  void await_fin(ibv_qp* at) {
    ASSERT_EQ(post_recv(at, 0, sge_of(there.data() + kFins, 64, there_mr.get())), 0);
  }

  std::uint32_t length_of(std::uint64_t id) const {
    constexpr std::uint32_t kLengths[] = {0, 1, 500, 1008, 1009, 3000, 8000};
    return kLengths[(id * 7 + GetParam()) % std::size(kLengths)];
  }
  static bool is_rendezvous(std::uint64_t id) { return id % 3 == 0; }
  /// Where a message lies; its place is used again long after it has arrived.
  char* message_of(std::uint64_t id) { return there.data() + id % kPlaces * 2 * kPlace; }
  std::vector<char> payload_of(std::uint64_t id) const {
    std::vector<char> payload(length_of(id));
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(id * 31 + i * 7);
    return payload;
  }

  // ---- sender

  void send_next() {
    const std::uint64_t id = sent_++;
    char* const at = message_of(id);
    const std::vector<char> payload = payload_of(id);
    const ibv_tmh tmh{is_rendezvous(id) ? std::uint8_t{IBV_TMH_RNDV} : std::uint8_t{IBV_TMH_EAGER},
                      {},
                      0,
                      __builtin_bswap64(id)};
    const ibv_rvh rvh{__builtin_bswap64(reinterpret_cast<std::uintptr_t>(at + 32)),
                      __builtin_bswap32(there_mr->rkey), __builtin_bswap32(length_of(id))};
    std::memcpy(at, &tmh, sizeof tmh);
    if (is_rendezvous(id)) std::memcpy(at + sizeof tmh, &rvh, sizeof rvh);
    std::copy(payload.begin(), payload.end(), at + (is_rendezvous(id) ? 32 : 16));
    const std::uint32_t length = is_rendezvous(id) ? 32 : 16 + length_of(id);
    ibv_qp* const by = id % 2 == 0 ? client.get() : other_client.get();
    ASSERT_EQ(post_send(by, id, sge_of(at, length, there_mr.get())), 0);
    ++unacknowledged_;
  }
  void look_at_sender() {
    ibv_wc wc{};
    while (ibv_poll_cq(cq.get(), 1, &wc) == 1) {
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      if (wc.opcode == IBV_WC_SEND) {
        --unacknowledged_;
      } else {
        await_fin(wc.qp_num == client->qp_num ? client.get() : other_client.get());
      }
    }
  }

  // ---- receiver

  void want_next() {
    const std::uint64_t id = wanted_++;
    if (const auto found = early.find(id); found != early.end()) {
      arrived_whole(id, found->second);
      early.erase(found);
      return;
    }
    const std::size_t place = places.back();
    places.pop_back();
    ibv_sge sge = sge_of(here.data() + kTagged + place * kPlace, kPlace, here_mr.get());
    ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 0, random() % 2 == 0 ? IBV_OPS_TM_SYNC : 0);
    wr.tm.unexpected_cnt = count_;
    wr.tm.add = {.recv_wr_id = id, .sg_list = &sge, .num_sge = 1, .tag = id, .mask = kAll};
    ASSERT_EQ(post(wr), 0);
    posted[id] = {place, wr.tm.handle};
  }
  void arrived_whole(std::uint64_t id, const std::vector<char>& payload) {
    EXPECT_TRUE(arrived_.insert(id).second) << id << " has come twice";
    EXPECT_EQ(payload, payload_of(id)) << id;
  }
  void take(const Told& one) {
    ASSERT_EQ(one.status, IBV_WC_SUCCESS) << one.wr_id << ", " << one.opcode;
    if (one.opcode == IBV_WC_TM_DEL) {
      give_back(one.wr_id);
      arrived_whole(one.wr_id, early.at(one.wr_id));
      early.erase(one.wr_id);
    } else if (one.opcode == IBV_WC_TM_RECV && one.wr_id >= kReceives) {
      unexpected(one);
    } else if (one.opcode == IBV_WC_TM_RECV) {
      matched(one);
    }
  }
  void matched(const Told& one) {
    Posted& buffer = posted.at(one.wr_id);
    if ((one.flags & kMatched) != 0) {
      EXPECT_EQ(one.tag, one.wr_id);
      EXPECT_FALSE(std::exchange(buffer.matched, true));
      ++matched_;
    }
    if ((one.flags & kThere) == 0) return;
    EXPECT_TRUE(buffer.matched);
    const char* const from = here.data() + kTagged + buffer.place * kPlace;
    arrived_whole(one.wr_id, {from, from + one.bytes});
    give_back(one.wr_id);
  }
  /// The buffer may be on the list by now, and waits there for the program to say that it knows.
  void unexpected(const Told& one) {
    const char* const from = here.data() + (one.wr_id - kReceives) * kPlace;
    ibv_tmh tmh;
    std::memcpy(&tmh, from, sizeof tmh);
    const std::uint64_t id = __builtin_bswap64(tmh.tag);
    std::vector<char> payload(from + 16, from + one.bytes);
    if (is_rendezvous(id)) payload.assign(message_of(id) + 32, message_of(id) + 32 + length_of(id));
    receive(one.wr_id, (one.wr_id - kReceives) * kPlace, kPlace);
    ++count_;
    early[id] = payload;
    ibv_ops_wr wr = operation(IBV_WR_TAG_SYNC, 0);
    if (const auto found = posted.find(id); found != posted.end()) {
      wr = operation(IBV_WR_TAG_DEL, id, IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC);
      wr.tm.handle = found->second.handle;
    } else if (random() % 3 != 0) {
      return;
    }
    wr.tm.unexpected_cnt = count_;
    ASSERT_EQ(post(wr), 0);
  }
  void give_back(std::uint64_t id) {
    places.push_back(posted.at(id).place);
    posted.erase(id);
  }

  static constexpr std::size_t kFins = kPlaces * 2 * kPlace;
  std::mt19937 random{GetParam()};
  QpPtr other_server, other_client;
  std::vector<std::size_t> places;
  std::map<std::uint64_t, Posted> posted;
  std::map<std::uint64_t, std::vector<char>> early;
  std::set<std::uint64_t> arrived_;
  std::uint64_t sent_ = 0, wanted_ = 0, matched_ = 0, unacknowledged_ = 0;
  std::uint32_t count_ = 0;
};

TEST_P(TagExchangeTest, EveryMessageArrivesOnceAndWhole) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (arrived_.size() < kMessages && !HasFailure()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << arrived_.size() << " of " << sent_;
    // first the one is ahead, then the other
    const bool ahead = sent_ / 50 % 2 == 0;
    const std::uint64_t first_open = posted.empty() ? wanted_ : std::min(wanted_, posted.begin()->first);
    const std::uint64_t oldest = early.empty() ? first_open : std::min(first_open, early.begin()->first);
    const bool may_send = sent_ < kMessages && sent_ < oldest + kPlaces / 2 && unacknowledged_ < 8;
    const bool slow = random() % 4 != 0;
    if (may_send && sent_ < wanted_ + (ahead ? 8 : 0) && (ahead || !slow)) send_next();
    const bool may_want = wanted_ < kMessages && !places.empty() && wanted_ < sent_ + (ahead ? 0 : 8);
    if (may_want && (!ahead || !slow)) want_next();
    look_at_sender();
    Told one;
    if (poll(one)) take(one);
  }
  EXPECT_GT(matched_, kMessages / 10);
  EXPECT_GT(count_, kMessages / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TagExchangeTest, testing::Values(1, 2, 3));

}  // namespace
}  // namespace softrnic::abi_test
