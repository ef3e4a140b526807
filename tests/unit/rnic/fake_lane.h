// A lane without sockets: packets between its queue pairs are handed over directly.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/reason_id.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/lanes.h"
#include "rnic/queue_pair.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::rnic::test {

class FakeLane final : public LanePort {
 public:
  explicit FakeLane(std::uint8_t number = 7) : number_(number) { window_.set_local(true); }

  bool lose_packets = false;          ///< nothing arrives any more
  bool hold_packets = false;          ///< packets stay in flight until released
  bool takes_arrived = false;         ///< packets in flight arrive when they are asked for
  std::size_t drop_after = SIZE_MAX;  ///< so many arrive, and no more
  bool refuse_join = false;
  Silence known;  ///< see LanePort::silence()
  std::vector<ibv_qp_state> changes;
  std::vector<ib::TxPacket> headers_sent;  ///< without payload
  std::deque<ibv_wc> for_the_sink;         ///< handed to whoever polls
  int progress_calls = 0;
  int quiesce_calls = 0;
  std::vector<CompletionQueue*> forgotten;
  bool goes_direct = false;  ///< whatever may go without packets does, and moves nothing
  int transmit_calls = 0;
  int completed_direct_calls = 0;
  std::size_t undelivered() const { return completions_.size(); }

  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    now_ += by;
    for (auto& [index, qp] : qps_) {
      if (qp->deadline() <= now_) qp->expire(now_);
    }
    pump();
  }
  void release() {
    const std::lock_guard lock(mutex_);
    hold_packets = false;
    pump();
  }

  // ---- LanePort
  QuickMutex& mutex() override { return mutex_; }
  Expected<Qpn, Failure> attach(QueuePair& qp) override {
    qps_[++last_index_] = &qp;
    return Qpn::of(number_, last_index_);
  }
  void detach(QueuePair& qp) override { qps_.erase(qp.qpn().index()); }
  Silence silence(const ib::AddressVector&, bool full_packet) override {
    return {.mtu = full_packet ? known.mtu : 0, .dropped = known.dropped, .within = known.within};
  }
  Expected<std::uint32_t, Failure> attach(WorkQueue&) override { return (1U << 24) + ++last_index_; }
  void detach(WorkQueue&) override {}
  void publish_completions() override { publish(); }
  void transmit(QueuePair&) override {
    ++transmit_calls;
    pump();
  }
  void take_arrived() override {
    if (!takes_arrived) return;
    hold_packets = false;
    pump();
  }
  void completed_direct(QueuePair&) override {
    ++completed_direct_calls;
    publish();
  }
  bool may_go_direct(const QueuePair&) override { return goes_direct; }
  DirectResult direct(const DirectStep&) override {
    return goes_direct ? DirectResult::attach : DirectResult::none;
  }
  bool direct_empty(const DirectStep&) override { return goes_direct; }
  void deliver(CompletionQueue& cq, const ibv_wc& wc, bool solicited) override {
    completions_.push_back({&cq, wc, solicited});
  }
  void discard(QueuePair& qp) override {
    std::erase_if(completions_, [&](const Completion& c) { return c.wc.qp_num == qp.qpn().value; });
  }
  ib::PathWindow& window(const ib::AddressVector&, Qpn) override { return window_; }
  bool join(QueuePair&, const wire::Gid&) override { return !refuse_join; }
  bool leave(QueuePair&, const wire::Gid&) override { return true; }
  TimePoint now() override { return now_; }
  void changed(QueuePair& qp) override { changes.push_back(qp.state()); }
  Effort progress(CompletionSink& sink) override {
    ++progress_calls;
    while (!for_the_sink.empty() && sink.next != sink.end) {
      *sink.next++ = for_the_sink.front();
      for_the_sink.pop_front();
    }
    return Effort::look;
  }
  void forget(CompletionQueue& cq) override { forgotten.push_back(&cq); }
  void quiesce() override {
    ++quiesce_calls;
    const std::lock_guard lock(mutex_);
  }

 private:
  struct InFlight {
    ib::TxPacket packet;
    ib::AddressVector path;
    std::vector<std::byte> payload;
  };
  struct Completion {
    CompletionQueue* cq;
    ibv_wc wc;
    bool solicited;
  };

  void pump() {
    for (bool busy = true; busy;) {
      busy = false;
      for (auto& [index, qp] : qps_) busy |= send_all(*qp);
      busy |= arrive_all();
    }
    publish();
  }

  void publish() {
    for (std::size_t i = 0; i < completions_.size(); ++i) {
      const Completion c = completions_[i];
      if (c.cq->push(c.wc, c.solicited) == Pushed::lost)
        qps_.at(Qpn(c.wc.qp_num).index())->completion_lost(*c.cq, c.wc.wr_id);
    }
    completions_.clear();
  }

  bool send_all(QueuePair& qp) {
    bool any = false;
    for (ib::TxPacket out; qp.transmit(out, now_) == ib::Transmit::packet; out = {}) {
      InFlight packet{out, *out.path, {}};
      for (std::size_t i = 0; i < out.fragment_count; ++i) {
        const ib::Fragment& f = out.fragments[i];
        packet.payload.insert(packet.payload.end(), f.data, f.data + f.size);
      }
      headers_sent.push_back(out);
      if (!lose_packets) in_flight_.push_back(std::move(packet));
      any = true;
    }
    return any;
  }

  bool arrive_all() {
    if (hold_packets || in_flight_.empty()) return false;
    while (!in_flight_.empty()) {
      const InFlight packet = std::move(in_flight_.front());
      in_flight_.pop_front();
      ib::RxPacket rx;
      rx.packet.headers = packet.packet.headers;
      rx.packet.info = &wire::opcode_info(packet.packet.headers.bth.opcode);
      rx.packet.payload = packet.payload;
      rx.source = packet.path.source;
      rx.destination = packet.path.destination;
      if (drop_after == 0) continue;
      if (drop_after != SIZE_MAX) --drop_after;
      const auto to = qps_.find(packet.packet.headers.bth.destination.index());
      if (to != qps_.end()) to->second->receive(rx, now_);
    }
    return true;
  }

  const std::uint8_t number_;
  QuickMutex mutex_;
  std::uint16_t last_index_ = 0x10;
  std::map<std::uint16_t, QueuePair*> qps_;
  std::deque<InFlight> in_flight_;
  std::vector<Completion> completions_;
  ib::PathWindow window_;
  TimePoint now_{std::chrono::hours(1)};
};

class FakeLanes final : public Lanes {
 public:
  FakeLane lane;
  bool refuse = false;

  Expected<LanePort*, Failure> choose() override {
    if (refuse) return Unexpected{softrnic::refuse(EIO, ReasonId::daemon_gone)};
    return &lane;
  }
  void quiesce_all() override { lane.quiesce(); }
};

}  // namespace softrnic::rnic::test
