#include "tests/sim/model.h"

#include <algorithm>
#include <utility>

#include "tests/sim/scatter.h"
#include "transport/ib/timers.h"

namespace softrnic::sim {

using ib::Status;

void Model::complain(const WorkRequest& wr, const std::string& what) {
  ground_.fail(format("node %u (%s) wr %llu %s of %u bytes: ", node_.index, name(node_.pair->type),
                      static_cast<unsigned long long>(wr.id), name(wr.op), wr.length) +
               what);
}

void Model::post(WorkRequest&& wr) {
  wr.posted = ground_.now;
  wr.losses = node_.losses;
  wr.timeouts = node_.counted(ib::Counter::timeouts);
  prepare(wr);
  ground_.log(What::posted, node_.index, wr.id, static_cast<std::uint64_t>(wr.op), wr.length);
  log_.push_back(std::move(wr));
}

void Model::send_done(const ib::SendDone& done) {
  std::size_t i = next_;
  while (i < log_.size() && log_[i].id != done.wr_id) ++i;
  if (i == log_.size())
    return ground_.fail(format("node %u completes send %llu, which is not outstanding", node_.index,
                               static_cast<unsigned long long>(done.wr_id)));
  for (; next_ < i; ++next_) {
    if (failed_) return complain(log_[next_], "was not reported although the QP is in error");
    if (log_[next_].signaled) return complain(log_[next_], "a later work request completed first");
    succeeded(next_);
  }
  WorkRequest& wr = log_[next_];
  if (done.op != wr.op) complain(wr, format("completes as %s", name(done.op)));
  if (done.status == Status::success) {
    if (failed_) complain(wr, "succeeds after an earlier one failed");
    if (done.signaled != wr.signaled) complain(wr, "signaled is not what was asked for");
    if ((wr.op == ib::SendOp::read || is_atomic(wr.op)) && done.length != wr.length)
      complain(wr, format("completes with %u bytes", done.length));
    if ((wr.legal & bit(Status::success)) == 0) complain(wr, "succeeds although it must fail");
    if (is_local(wr.op) && !wr.executed) complain(wr, "succeeds and was not executed");
    succeeded(next_);
  } else {
    failed(wr, done.status);
  }
  ++next_;
}

void Model::executed_locally(std::uint64_t id) {
  std::size_t i = next_;
  while (i < log_.size() && log_[i].id != id) ++i;
  if (i == log_.size() || !is_local(log_[i].op))
    return ground_.fail(format("node %u executes wr %llu, which is no outstanding bind or invalidate",
                               node_.index, static_cast<unsigned long long>(id)));
  if (log_[i].executed) complain(log_[i], "is executed twice");
  log_[i].executed = true;
  check_turn(i);
}

void Model::failed(WorkRequest& wr, Status status) {
  if (wr.executed && status == Status::flushed) complain(wr, "is flushed and was executed");
  if (status == Status::flushed) {
    unexplained_flush_ |= !failed_ && !node_.broken;
  } else {
    if (failed_) complain(wr, format("fails with %s although an earlier one failed already", name(status)));
    if (!legal_failure(wr, status)) complain(wr, format("fails with %s without cause", name(status)));
  }
  failed_ = true;
  check_gaps(wr);
}

void Model::check_flushes(bool broken) {
  if (unexplained_flush_ && !broken)
    ground_.fail(format("node %u flushes work requests but is not in error", node_.index));
  unexplained_flush_ = false;
}

/// Whether the requester has waited as long and as often as it was told to, and had a reason to get no
/// answer: a silent peer, answers slower than its timeout, or a loss in each of its attempts.
bool Model::legal_patience(const WorkRequest& wr) const {
  const PairConfig& pair = *node_.pair;
  const Node& peer = *node_.peer;
  if (pair.armed && node_.migrations == 0) return false;  // there was another path to try
  const std::uint64_t attempts = pair.retry_count + 1U;
  // A repeated READ of a region that was deregistered since is not answered: it may be a
  // copy of one that is done.
  const bool ignored = wr.op == ib::SendOp::read && !peer.target->usable;
  const bool lost = node_.losses - wr.losses >= attempts;
  const bool silent = peer.gone() || peer.broken || peer.was_late || node_.slow || lost || ignored;
  const bool waited = ground_.now - wr.posted >= ib::ack_timeout(pair.timeout) * static_cast<int>(attempts);
  return silent && waited && pair.timeout != 0 &&
         node_.counted(ib::Counter::timeouts) - wr.timeouts >= attempts;
}

bool Model::legal_failure(const WorkRequest& wr, Status status) const {
  if ((wr.legal & bit(status)) != 0) return true;
  const PairConfig& pair = *node_.pair;
  const Node* peer = node_.peer;
  if (peer == nullptr) return false;
  switch (status) {
    case Status::retry_exceeded:
      return legal_patience(wr);
    case Status::rnr_exceeded: {
      // Where requests are repeated, one may find a receive while the RNR NAK of its twin is under way.
      const bool often_enough = !node_.exact_counts || peer->empty_takes > pair.rnr_retry;
      return pair.rnr_retry < 7 && peer->ever_empty && often_enough;
    }
    case Status::remote_access: {
      Region* region = peer->memory.find(wr.rkey);
      return wr.op != ib::SendOp::send && region != nullptr && !region->usable;
    }
    case Status::local_protection: {
      Region* region = node_.memory.find(wr.local);
      return region != nullptr && !region->usable;
    }
    case Status::remote_invalid_request:
      return peer->took_short && takes_receive(wr.op);
    case Status::remote_operation:
      return peer->took_bad && takes_receive(wr.op);
    default:
      return false;
  }
}

void Model::at_rest() {
  for (; next_ < log_.size() && !ground_.failed(); ++next_) {
    WorkRequest& wr = log_[next_];
    if (failed_) complain(wr, "was not flushed");
    if (wr.signaled) complain(wr, "never completes");
    if ((wr.legal & bit(Status::success)) == 0) complain(wr, "succeeds silently although it must fail");
    succeeded(next_);
  }
}

void Model::abandon() {
  for (; next_ < log_.size(); ++next_) check_gaps(log_[next_]);
  failed_ = true;
}

void Model::check_local(const WorkRequest& wr, Bytes expected) {
  Region* region = wr.local.value == 0 ? nullptr : node_.memory.find(wr.local);
  if (region == nullptr) return;
  const Bytes bytes = std::as_const(*region).bytes();
  if (!same(bytes, expected)) {
    const auto at = std::mismatch(bytes.begin(), bytes.end(), expected.begin()).first - bytes.begin();
    complain(wr, format("local buffer differs from what it must hold at byte %td of %zu", at, bytes.size()));
  }
  if (!region->guards_intact()) complain(wr, "bytes beside the local buffer were written");
  node_.memory.remove(wr.local);
}

void Model::check_gaps(const WorkRequest& wr) {
  Region* region = wr.local.value == 0 ? nullptr : node_.memory.find(wr.local);
  if (region == nullptr) return;
  std::vector<std::byte> expected(wr.image.begin(), wr.image.end());
  if (region->use == Use::sink) {
    const Bytes now = region->bytes();
    scatter(gather(wr.sges, region->base, now), 0, wr.sges, region->base, expected);
  }
  check_local(wr, expected);
}

std::string Model::mismatch(const WorkRequest& wr, const ib::RecvDone& done) {
  if (done.is_write != is_write(wr.op)) return "is_write";
  if (done.has_immediate != has_immediate(wr.op)) return "has_immediate";
  if (done.has_immediate && done.immediate != wr.immediate) return "immediate";
  if (done.has_invalidate != (wr.op == ib::SendOp::send_with_invalidate)) return "has_invalidate";
  if (done.has_invalidate && done.immediate != wr.immediate) return "invalidated key";
  if (done.solicited != wr.solicited) return "solicited";
  return "";
}

bool Model::holds(Node& receiver, const PostedReceive& receive, Bytes payload, std::size_t skip, bool exact) {
  Region& region = *receiver.memory.find(receive.region);
  std::vector<std::byte> expected(receive.image.begin(), receive.image.end());
  if (!exact)  // what lies in the SGEs behind the message may have been written by a message that was given
               // up
    scatter(gather(receive.sges, region.base, region.bytes()), 0, receive.sges, region.base, expected);
  else if (skip != 0)
    scatter(gather(receive.sges, region.base, region.bytes()), 0, receive.sges, region.base, expected);
  scatter(payload, skip, receive.sges, region.base, expected);
  return region.guards_intact() && same(region.bytes(), expected);
}

void Model::receive_failed(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) {
  bool legal = done.status == Status::flushed;
  legal |= done.status == Status::local_length && receive.is_short;
  legal |= (done.status == Status::local_protection || done.status == Status::local_qp_operation) &&
           receive.is_bad;
  legal |= done.status == Status::local_access || done.status == Status::remote_invalid_request;
  if (!legal)
    ground_.fail(format("node %u: receive %llu fails with %s without cause", receiver.index,
                        static_cast<unsigned long long>(receive.id), name(done.status)));
  if (!holds(receiver, receive, {}, 0, false))
    ground_.fail(format("node %u: bytes beside receive %llu were written", receiver.index,
                        static_cast<unsigned long long>(receive.id)));
  if (done.status == Status::flushed && !receiver.broken) receiver.sends->note_flush();
}

}  // namespace softrnic::sim
