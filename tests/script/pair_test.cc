// Two RC endpoints and a bad network between them: whatever is lost, doubled or overtaken, everything posted
// completes in order, once, with the right bytes. (The simulator in tests/sim goes further; this is the
// transport's own smoke test.)
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "tests/script/fake_host.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib::test {
namespace {

constexpr std::uint64_t kRegionBase = 0x100000;
constexpr std::uint32_t kRegionBytes = 1 << 16;
constexpr std::uint32_t kMtu = 256;

struct Frame {
  TimePoint at;
  wire::Headers headers;
  std::vector<std::byte> payload;
};

struct Side {
  FakeHost host;
  std::vector<std::byte> memory = std::vector<std::byte>(kRegionBytes);
  PathWindow window;
  Attributes attributes;
  std::unique_ptr<Endpoint> qp;
  std::deque<Frame> inbox;
};

class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed) {
    PathWindow::Limits limits;
    limits.initial_bytes = 8192;
    limits.minimum_bytes = 2048;
    for (int i = 0; i < 2; ++i) {
      Side& s = sides_[i];
      s.window = PathWindow(limits);
      s.attributes = attributes(i);
      s.host.regions[1] = {kRegionBase, s.memory.data(), kRegionBytes, 15};
      s.qp = make_endpoint(QpType::rc, s.attributes.local, {.send_wqes = 8, .send_sges = 2}, s.host);
      s.qp->set_window(&s.window);
    }
    sides_[0].attributes.receive_psn = sides_[1].attributes.send_psn;
    sides_[1].attributes.receive_psn = sides_[0].attributes.send_psn;
    for (Side& s : sides_) s.qp->start_responder(s.attributes);
    for (Side& s : sides_) s.qp->start_requester(s.attributes);
  }

  void run(int messages) {
    int posted[2] = {0, 0};
    for (int round = 0; round < 200'000; ++round) {
      bool done = true;
      for (int i = 0; i < 2; ++i) {
        if (posted[i] < messages && chance(30)) posted[i] += post(i, posted[i]);
        if (chance(10)) post_receive(i);
        step(i);
        check(i);
        done = done && posted[i] == messages && sides_[i].qp->outstanding_sends() == 0;
      }
      if (done) return finish(messages);
      now_ += std::chrono::microseconds(20);
    }
    FAIL() << "no end: " << sides_[0].qp->outstanding_sends() << " and " << sides_[1].qp->outstanding_sends();
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  Attributes attributes(int i) {
    Attributes a;
    a.local = Qpn(0x10000U * (i + 1));
    a.remote = Qpn(0x10000U * (2 - i));
    a.path.destination.raw[15] = std::byte(2 - i);
    a.path_mtu = kMtu;
    a.send_psn = static_cast<std::uint32_t>(0xffff00 + random_() % 512) & 0xffffff;
    a.access = 15;
    a.max_reads_in = 4;
    a.max_reads_out = static_cast<std::uint8_t>(1 + random_() % 4);
    a.timeout = 12;
    a.retry_count = a.rnr_retry = 7;
    a.min_rnr_timer = 1;
    return a;
  }

  // The first half of each memory is the side's own, the second half its peer's to write;
  // message n uses slot n % 16.
  int post(int i, int n) {
    Side& s = sides_[i];
    SendSlot slot = s.qp->reserve();
    if (slot.wqe == nullptr) return 0;
    constexpr SendOp kChoices[] = {SendOp::send, SendOp::write, SendOp::read, SendOp::fetch_add,
                                   SendOp::write_with_imm};
    SendWqe& w = *slot.wqe;
    w.wr_id = n;
    w.op = kChoices[random_() % 5];
    w.signaled = true;
    w.fence = chance(10);
    w.length = w.op == SendOp::fetch_add ? 8 : static_cast<std::uint32_t>(random_() % 2048);
    w.immediate = n;
    w.rkey = MemoryKey(1);
    w.remote_address =
        w.op == SendOp::fetch_add ? kRegionBase + 8 : kRegionBase + kRegionBytes / 2 + (n % 16) * 2048;
    w.swap_or_add = 1;
    const std::uint64_t own = kRegionBase + 2048 + (n % 14) * 2048;
    if (w.op != SendOp::read && w.op != SendOp::fetch_add) {
      for (std::uint32_t k = 0; k < w.length; ++k)
        s.memory[own - kRegionBase + k] = static_cast<std::byte>(n * 3 + k);
    }
    w.sge_count = 2;
    slot.sges[0] = {own, w.length / 3, MemoryKey(1)};
    slot.sges[1] = {own + w.length / 3, w.length - w.length / 3, MemoryKey(1)};
    posted_[i].push_back(w);
    s.qp->commit();
    return 1;
  }

  void post_receive(int i) {
    Side& s = sides_[i];
    if (s.host.receives.size() - s.host.taken > 8) return;
    received_into_[i].emplace_back(2048);
    auto& buffer = received_into_[i].back();
    const auto key = static_cast<std::uint32_t>(1000 + received_into_[i].size());
    s.host.regions[key] = {0, buffer.data(), 2048, kLocalWrite};
    s.host.post_receive(received_into_[i].size() - 1, {{0, 2048, MemoryKey(key)}});
  }

  void step(int i) {
    Side& s = sides_[i];
    auto due = [this](const Frame& f) { return f.at <= now_; };
    for (auto it = s.inbox.begin(); it != s.inbox.end();) {
      if (!due(*it)) {
        ++it;
        continue;
      }
      RxPacket rx;
      rx.packet.headers = it->headers;
      rx.packet.info = &wire::opcode_info(it->headers.bth.opcode);
      rx.packet.payload = it->payload;
      rx.source = s.attributes.path.destination;
      s.qp->receive(rx, now_);
      it = s.inbox.erase(it);
    }
    if (s.qp->deadline() <= now_) s.qp->expire(now_);
    TxPacket out;
    while (s.qp->transmit(out, now_) == Transmit::packet) carry(i, out);
  }

  void carry(int from, const TxPacket& out) {
    Frame frame{now_ + std::chrono::microseconds(chance(3) ? 200 : 30), out.headers, {}};
    for (std::size_t k = 0; k < out.fragment_count; ++k) {
      frame.payload.insert(frame.payload.end(), out.fragments[k].data,
                           out.fragments[k].data + out.fragments[k].size);
    }
    ASSERT_EQ(frame.payload.size(), out.payload_bytes);
    auto& inbox = sides_[1 - from].inbox;
    if (chance(2)) inbox.push_back(frame);
    if (!chance(3)) inbox.push_back(frame);
  }

  // Completions come in order; their data is right at that moment.
  void check(int i) {
    Side& s = sides_[i];
    ASSERT_FALSE(s.qp->in_error()) << (s.host.reasons.empty() ? "" : describe(s.host.reasons.back()));
    for (const SendDone& done : s.host.sends) {
      ASSERT_EQ(done.status, Status::success);
      ASSERT_EQ(done.wr_id, sent_[i]);
      if (done.op == SendOp::fetch_add) ++atomics_[1 - i];
      ++sent_[i];
    }
    s.host.sends.clear();
    for (const RecvDone& done : s.host.recvs) check_receive(i, done);
    s.host.recvs.clear();
  }

  void check_receive(int i, const RecvDone& done) {
    ASSERT_EQ(done.status, Status::success);
    auto& sent = posted_[1 - i];
    while (arrived_[i] < sent.size() && sent[arrived_[i]].op != SendOp::send &&
           sent[arrived_[i]].op != SendOp::write_with_imm) {
      ++arrived_[i];
    }
    ASSERT_LT(arrived_[i], sent.size());
    const SendWqe& w = sent[arrived_[i]++];
    ASSERT_EQ(done.length, w.length);
    ASSERT_EQ(done.is_write, w.op == SendOp::write_with_imm);
    const std::byte* at = done.is_write ? &sides_[i].memory[w.remote_address - kRegionBase]
                                        : received_into_[i][done.wr_id].data();
    for (std::uint32_t k = 0; k < w.length; ++k) {
      ASSERT_EQ(at[k], static_cast<std::byte>(w.wr_id * 3 + k)) << "byte " << k << " of message " << w.wr_id;
    }
  }

  void finish(int messages) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(sent_[i], static_cast<std::uint64_t>(messages));
      EXPECT_EQ(sides_[i].window.in_flight(), 0U);
      EXPECT_EQ(sides_[i].qp->deadline(), kNever);
      std::uint64_t counter;
      std::memcpy(&counter, &sides_[i].memory[8], 8);
      EXPECT_EQ(counter, atomics_[i]);
    }
  }

  std::mt19937_64 random_;
  Side sides_[2];
  TimePoint now_{std::chrono::seconds(1)};
  std::vector<SendWqe> posted_[2];
  std::deque<std::vector<std::byte>> received_into_[2];
  std::uint64_t sent_[2] = {0, 0};
  std::uint64_t atomics_[2] = {0, 0};
  std::size_t arrived_[2] = {0, 0};
};

TEST(Pair, SurvivesABadNetwork) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Pair pair(seed);
    pair.run(60);
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
}

}  // namespace
}  // namespace softrnic::ib::test
