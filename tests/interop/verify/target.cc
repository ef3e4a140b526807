#include <endian.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>

#include "tests/interop/verify/sides.h"

namespace interop {
namespace {

// How long a lossy transport may still deliver after the initiator has sent everything.
constexpr auto kQuiet = std::chrono::milliseconds(100);

class Target {
 public:
  Target(Peer& peer, const Settings& settings, Channel& channel)
      : peer_(peer), settings_(settings), channel_(channel), head_(peer.datagrams() ? kGrhBytes : 0) {
    free_.resize(kBatch);
    for (std::size_t i = 0; i < kBatch; ++i) free_[i] = i;
  }

  Tally run() {
    for (std::uint32_t batch = 0; batch * kBatch < settings_.messages; ++batch) {
      before_ = std::move(now_);
      now_ = make_batch(settings_, batch);
      arrived_.clear();
      lay_out();
      post_receives();
      channel_.barrier();
      take_receives();
      check_memory();
      tally_.messages += now_.size();
      channel_.barrier();
    }
    return tally_;
  }

 private:
  void lay_out() {
    std::ranges::fill(peer_.slots().all(), kUntouched);
    for (const Operation& o : now_) {
      const auto slot = peer_.slots().bytes(o.offset, o.size);
      const std::uint64_t start = atomic_start(o);
      if (o.kind == Kind::read) fill(slot, o.number);
      if (o.is_atomic()) std::memcpy(slot.data(), &start, sizeof start);
    }
  }

  // Reliable: one receive for each message, some exactly as long. Lossy: all of full
  // length, leftovers stay posted.
  void post_receives() {
    for (const Operation& o : now_) {
      if (!o.takes_receive()) continue;
      if (peer_.lossy() && free_.empty()) break;
      require(!free_.empty(), "no receive buffer is free");
      const std::size_t index = free_.back();
      free_.pop_back();
      post_receive(index, posted_length(o));
    }
  }

  std::size_t posted_length(const Operation& o) const {
    if (peer_.lossy()) return settings_.max_size + kGrhBytes;
    return o.kind == Kind::write_imm ? 0 : o.size + o.slack;
  }

  std::size_t place(std::size_t index) const { return index * receive_room(settings_) + kGuard; }

  void post_receive(std::size_t index, std::size_t size) {
    std::ranges::fill(peer_.receives().bytes(place(index) - kGuard, receive_room(settings_)), kUntouched);
    std::array<ibv_sge, 2> pieces = {peer_.receives().sge(place(index), size / 3),
                                     peer_.receives().sge(place(index) + size / 3, size - size / 3)};
    ibv_recv_wr wr{};
    wr.wr_id = index;
    wr.sg_list = pieces.data();
    wr.num_sge = size == 0 ? 0 : 2;
    ibv_recv_wr* bad = nullptr;
    require(ibv_post_recv(peer_.qp(), &wr, &bad) == 0, "ibv_post_recv");
  }

  void take_receives() {
    const auto wanted = static_cast<std::size_t>(std::ranges::count_if(now_, &Operation::takes_receive));
    bool all_sent = false;
    auto last = std::chrono::steady_clock::now();
    const auto complete = [&] {
      if (!peer_.lossy()) return arrived_.size() >= wanted;
      return arrived_.contains(now_.back().number) || std::chrono::steady_clock::now() - last > kQuiet;
    };
    while (!all_sent || !complete()) {
      for (const ibv_wc& wc : peer_.poll()) {
        take(wc);
        last = std::chrono::steady_clock::now();
      }
      if (!all_sent && channel_.readable()) {
        channel_.barrier();
        all_sent = true;
        last = std::chrono::steady_clock::now();
      }
    }
    tally_.lost += wanted - std::min(wanted, arrived_.size());
  }

  void take(const ibv_wc& wc) {
    const std::size_t index = wc.wr_id;
    free_.push_back(index);
    const Operation* o = identify(wc, index);
    if (o == nullptr) {
      ++tally_.wrong;
      judge(tally_, false, Operation{}, "received what nobody sent", 0);
      return;
    }
    if (batch_holds(*o)) arrived_.insert(o->number);
    const bool with_imm = o->kind != Kind::send;
    judge(tally_, with_imm == ((wc.wc_flags & IBV_WC_WITH_IMM) != 0), *o, "immediate flag", 0);
    judge(tally_, !with_imm || be32toh(wc.imm_data) == o->number, *o, "immediate data", 0);
    judge(tally_, wc.opcode == (o->kind == Kind::write_imm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV), *o,
          "opcode", 0);
    judge(tally_, wc.byte_len == o->size + head_, *o, "byte_len", 0);
    judge(tally_, peer_.datagrams() == ((wc.wc_flags & IBV_WC_GRH) != 0), *o, "GRH flag", 0);
    const std::size_t used = o->kind == Kind::write_imm ? 0 : o->size;
    const auto message = peer_.receives().bytes(place(index) + head_, used);
    judge(tally_, matches(message, o->number), *o, "received other bytes", used);
    // A receive that took part of a lost UC message serves the next one, so only what was
    // not posted stays untouched.
    const bool reused = peer_.lossy() && !peer_.datagrams();
    const auto behind =
        peer_.receives().bytes(place(index) + (reused ? posted_length(*o) : head_ + used), kGuard / 2);
    judge(tally_, untouched(behind), *o, "bytes behind the message were touched", 0);
  }

  bool batch_holds(const Operation& o) const { return o.number >= now_.front().number; }

  // Reliable: the next one. Lossy: by immediate data, else by content. A datagram may come
  // twice, or after its batch.
  const Operation* identify(const ibv_wc& wc, std::size_t index) const {
    for (const bool again : {false, true}) {
      if (again && !peer_.datagrams()) break;
      for (const std::vector<Operation>* batch : {&now_, &before_}) {
        for (const Operation& o : *batch) {
          const bool first_time = batch == &now_ && !arrived_.contains(o.number);
          if (o.takes_receive() && first_time != again && (!peer_.lossy() || fits(wc, index, o))) return &o;
        }
      }
    }
    return nullptr;
  }

  bool fits(const ibv_wc& wc, std::size_t index, const Operation& o) const {
    if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) return o.kind != Kind::send && be32toh(wc.imm_data) == o.number;
    return o.kind == Kind::send && wc.byte_len == o.size + head_ &&
           matches(peer_.receives().bytes(place(index) + head_, o.size), o.number);
  }

  void check_memory() {
    std::size_t end = 0;
    for (const Operation& o : now_) {
      const auto slot = peer_.slots().bytes(o.offset, o.size);
      judge(tally_, untouched(peer_.slots().bytes(end, o.offset - end)), o,
            "bytes before the slot were touched", 0);
      end = o.offset + o.size;
      if (o.is_write()) {
        const bool complete = !peer_.lossy() || arrived_.contains(o.number);
        judge(tally_, complete ? matches(slot, o.number) : partly_matches(slot, o.number), o,
              "WRITE wrote other bytes", o.size);
      } else if (o.kind == Kind::read) {
        judge(tally_, matches(slot, o.number), o, "READ changed its source", 0);
      } else if (o.is_atomic()) {
        std::uint64_t value = 0;
        std::memcpy(&value, slot.data(), sizeof value);
        judge(tally_, value == atomic_result(o), o, "the atomic left another value", 8);
      } else {
        judge(tally_, untouched(slot), o, "a SEND wrote into the slots", 0);
      }
    }
    judge(tally_, untouched(peer_.slots().bytes(end, kGuard)), now_.back(), "bytes behind the last slot", 0);
  }

  Peer& peer_;
  const Settings& settings_;
  Channel& channel_;
  std::size_t head_;  ///< bytes before the message in a receive: the GRH of UD
  std::vector<Operation> now_, before_;
  std::set<std::uint32_t> arrived_;
  std::vector<std::size_t> free_;  ///< receive buffers that are not posted
  Tally tally_;
};

}  // namespace

Tally be_target(Peer& peer, const Settings& settings, Channel& channel) {
  return Target(peer, settings, channel).run();
}

}  // namespace interop
