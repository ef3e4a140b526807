#include "tests/sim/node.h"

#include <algorithm>

#include "base/reason_id.h"
#include "tests/sim/model.h"
#include "tests/sim/scatter.h"
#include "transport/ib/timers.h"

namespace softrnic::sim {

void ReceiveQueue::post(Rng& rng) {
  auto receive = std::make_unique<PostedReceive>();
  std::uint32_t bytes = size;
  if (posted == misdeed_at) {
    receive->is_short = misdeed == Misdeed::short_receive;
    receive->is_bad = misdeed == Misdeed::bad_receive_lkey;
    if (receive->is_short) bytes = static_cast<std::uint32_t>(rng.below(64));
  }
  receive->id = 1'000'000 + posted++;
  receive->srqn = srqn;
  Region& region = add_scattered(*memory, bytes, sges, ib::kLocalWrite, Use::receive, rng, receive->sges);
  region.owner = Region::kNobody;
  receive->region = region.key;
  receive->image = region.original();
  if (receive->is_bad)
    for (auto& sge : receive->sges) sge.lkey = kBadKey;
  receive->wqe = ib::RecvWqe{receive->id, receive->sges, bytes};
  waiting.push_back(std::move(receive));
}

Expected<ib::HostMemory, Reason> Node::local_memory(MemoryKey lkey, std::uint64_t at, std::uint64_t length,
                                                    ib::LocalUse use) {
  const auto refused = Unexpected{because(ReasonId::lkey_unknown, lkey.value, length, at, use)};
  Region* region = memory.find(lkey);
  if (lkey == kBadKey) return refused;
  if (region == nullptr || !region->contains(at, length) || region->owner != index) {
    ground_.fail(format(
        "node %u asks for local memory that no outstanding work request covers: lkey %x, %llu bytes "
        "at %llx (%s)",
        index, lkey.value, static_cast<unsigned long long>(length), static_cast<unsigned long long>(at),
        region == nullptr        ? "unknown key"
        : region->owner != index ? "not its own"
                                 : "out of range"));
    return refused;
  }
  const ib::LocalUse meant = region->use == Use::receive ? ib::LocalUse::receive
                             : region->use == Use::sink  ? ib::LocalUse::response
                                                         : ib::LocalUse::send;
  if (use != meant)
    ground_.fail(format("node %u asks for a buffer for use %u that is there for use %u", index,
                        static_cast<unsigned>(use), static_cast<unsigned>(meant)));
  if (!region->usable) return refused;
  return ib::HostMemory{region->bytes().data() + (at - region->base), region->on_demand()};
}

Expected<ib::HostMemory, Reason> Node::remote_memory(MemoryKey rkey, std::uint64_t at, std::uint64_t length,
                                                     std::uint32_t access) {
  Region* region = memory.find(rkey);
  if (region == nullptr || !region->usable || region->use != Use::target)
    return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
  if (region->pd != 1) return Unexpected{because(ReasonId::nak_rkey_other_pd, rkey.value)};
  if (!region->contains(at, length))
    return Unexpected{because(ReasonId::nak_rkey_range, at, length, 0, rkey.value)};
  if ((region->access & access) != access)
    return Unexpected{because(ReasonId::nak_rkey_access, rkey.value, region->access, access)};
  if ((access & ib::kFlushGlobal) != 0) ++flushes;
  return ib::HostMemory{region->bytes().data() + (at - region->base), region->on_demand()};
}

Expected<void, Reason> Node::remote_region(MemoryKey rkey, std::uint32_t access) {
  Region* const region = memory.find(rkey);
  const auto memory_of = remote_memory(rkey, region == nullptr ? 0 : region->base, 1, access);
  if (!memory_of) return Unexpected{memory_of.error()};
  return {};
}

Expected<void, Reason> Node::invalidate(MemoryKey rkey) {
  Region* region = memory.find(rkey);
  if (region == nullptr || !region->usable) {
    if (!bad_invalidate_expected) ground_.fail(format("node %u invalidates key %x twice", index, rkey.value));
    return Unexpected{because(ReasonId::invalidate_region, rkey.value)};
  }
  region->usable = false;
  return {};
}

Expected<void, Reason> Node::select_srq(std::uint32_t number) {
  for (ReceiveQueue* queue : queues) {
    if (queue == nullptr || queue->srqn != number) continue;
    receives = queue;
    return {};
  }
  return Unexpected{because(ReasonId::nak_xrc_srq, number)};
}

// A bind makes a window of its own.
Expected<void, Reason> Node::execute_locally(const ib::SendWqe& wqe) {
  ground_.log(What::executed, index, wqe.wr_id);
  sends->executed_locally(wqe.wr_id);
  if (wqe.op == ib::SendOp::bind_window) {
    windows.push_back(memory.add(8, ib::kRemoteWrite, Use::target, rng_).key);
    return {};
  }
  if (wqe.rkey == kBadKey) return Unexpected{because(ReasonId::no_such_window, wqe.rkey.value)};
  return invalidate(wqe.rkey);
}

std::optional<std::uint32_t> Node::receives_posted() const {
  if (pair->shared_receives || pair->type_of(side) == ib::QpType::xrc_target) return std::nullopt;
  return static_cast<std::uint32_t>(receives->waiting.size());
}

const ib::RecvWqe* Node::take_receive() {
  if (receives->waiting.empty()) {
    ++empty_takes;
    ever_empty = true;
    ground_.log(What::took_none, index, empty_takes);
    return nullptr;
  }
  empty_takes = 0;
  taken.push_back(std::move(receives->waiting.front()));
  receives->waiting.pop_front();
  PostedReceive& receive = *taken.back();
  took_short |= receive.is_short;
  took_bad |= receive.is_bad;
  memory.find(receive.region)->owner = index;
  ground_.log(What::take, index, receive.id);
  return &receive.wqe;
}

Expected<std::uint64_t, Reason> Node::execute_atomic(std::uint64_t* word,
                                                     const ib::AtomicOperation& operation) {
  if (!rng_.chance(words_taken_)) return ib::execute(word, operation);
  ++losses;
  ++peer->losses;
  observer.postponed();
  return Unexpected{because(ReasonId::nak_atomic_busy)};
}

void Node::complete(const ib::SendDone& done) {
  ground_.log(What::send_done, index, done.wr_id, static_cast<std::uint64_t>(done.status), done.length);
  if (gone())
    return ground_.fail(format("node %u completes wr %llu after it was reset", index,
                               static_cast<unsigned long long>(done.wr_id)));
  if (done.status != ib::Status::success && done.status != ib::Status::flushed) error_reported = true;
  finished_.push_back(done);
}

void Node::complete(const ib::RecvDone& done) {
  ground_.log(What::recv_done, index, done.wr_id, static_cast<std::uint64_t>(done.status), done.length);
  if (gone() || taken.empty() || taken.front()->id != done.wr_id)
    return ground_.fail(format("node %u completes receive %llu, which is not the oldest one it took", index,
                               static_cast<unsigned long long>(done.wr_id)));
  if (done.status != ib::Status::success && done.status != ib::Status::flushed) error_reported = true;
  const auto receive = std::move(taken.front());
  taken.pop_front();
  received = true;
  receptions->receive_done(*this, done, *receive);
  memory.remove(receive->region);
  give_back(*receive);
}

void Node::give_back(const PostedReceive& receive) {
  ++consumed[queues[1] != nullptr && receive.srqn == queues[1]->srqn ? 1 : 0];
}

void Node::event(ib::QpEvent event) {
  ground_.log(What::event, index, static_cast<std::uint64_t>(event));
  switch (event) {
    case ib::QpEvent::fatal:
    case ib::QpEvent::request_error:
    case ib::QpEvent::access_error:
      error_reported = true;
      break;
    case ib::QpEvent::send_queue_drained:
      if (!drain_pending)
        ground_.fail(format("node %u reports a drained send queue nobody asked for", index));
      drain_pending = false;
      drained_seen = true;
      break;
    default:
      break;
  }
}

void Node::explain(const Reason& reason, const std::uint64_t* wr_id) {
  ground_.trace.add(Record{ground_.now, What::explained, index, wr_id == nullptr ? 0 : *wr_id, 0, 0, reason});
  if (reason.id == ReasonId::got_nak_rnr)
    observer.told_to_wait(static_cast<std::uint32_t>(reason.figures[0]),
                          ground_.now + ib::rnr_delay(peer->attributes.min_rnr_timer));
  if (reason.id == ReasonId::none) ground_.fail(format("node %u explains with no reason", index));
}

void Node::check_state() {
  for (const ib::SendDone& done : finished_) sends->send_done(done);
  finished_.clear();
  if (endpoint == nullptr) return;
  if (const char* rule = endpoint->broken_invariant())
    ground_.fail(format("node %u breaks an invariant of its endpoint: %s", index, rule));
  if (gone()) return;
  if (endpoint->in_error() && !error_reported && !flush_commanded)
    ground_.fail(
        format("node %u went into the error state without a completion or event that says so", index));
  broken = flush_commanded || endpoint->in_error();
  sends->check_flushes(broken);
}

}  // namespace softrnic::sim
