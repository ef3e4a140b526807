#include <algorithm>

#include "tests/sim/model.h"
#include "tests/sim/scatter.h"

namespace softrnic::sim {

using ib::SendOp;
using ib::Status;

StreamModel::StreamModel(Ground& ground, Node& requester, Node& responder)
    : Model(ground, requester), responder_(responder), target_(*responder.target) {
  latest_.assign(target_.bytes().begin(), target_.bytes().end());
  executed_ = latest_;
}

void StreamModel::prepare(WorkRequest& wr) {
  const bool effective = wr.reaches_peer && wr.length != 0;
  std::byte* place = effective && !is_send(wr.op) ? latest_.data() + wr.offset : nullptr;
  if (wr.op == SendOp::read && place != nullptr) wr.payload.assign(place, place + wr.length);
  if (is_write(wr.op) && effective) wr.effect = wr.payload;
  if (is_atomic(wr.op) && place != nullptr) {
    std::uint64_t original;
    std::memcpy(&original, place, 8);
    std::uint64_t result = original + wr.swap_or_add;
    if (wr.op == SendOp::compare_swap) result = original == wr.compare ? wr.swap_or_add : original;
    wr.payload.assign(place, place + 8);
    wr.effect.resize(8);
    std::memcpy(wr.effect.data(), &result, 8);
  }
  doomed_ |= (wr.legal & bit(Status::success)) == 0 && !wr.reaches_peer;
  if (!doomed_ && !wr.effect.empty()) std::memcpy(place, wr.effect.data(), wr.effect.size());
}

Bytes StreamModel::actual(const WorkRequest& wr, std::size_t length) const {
  return Bytes(target_.bytes()).subspan(wr.offset, length);
}

bool StreamModel::explained(std::uint64_t offset, Bytes got, Bytes expected, std::size_t from,
                            std::size_t to) const {
  if (std::memcmp(got.data(), expected.data(), got.size()) == 0) return true;
  std::vector<std::uint8_t> strange(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) strange[i] = got[i] != expected[i];
  for (std::size_t k = from; k < to; ++k) {
    const WorkRequest& wr = log_[k];
    const std::uint64_t begin = std::max(offset, wr.offset);
    const std::uint64_t end = std::min(offset + got.size(), wr.offset + wr.effect.size());
    for (std::uint64_t at = begin; at < end; ++at)
      strange[at - offset] &= wr.effect[at - wr.offset] != got[at - offset];
  }
  return std::find(strange.begin(), strange.end(), 1) == strange.end();
}

void StreamModel::execute(std::size_t last) {
  for (; executed_count_ <= last; ++executed_count_) {
    const WorkRequest& wr = log_[executed_count_];
    if (!wr.effect.empty()) std::memcpy(executed_.data() + wr.offset, wr.effect.data(), wr.effect.size());
  }
}

void StreamModel::finish() {
  if (!explained(0, target_.bytes(), executed_, executed_count_, log_.size()))
    ground_.fail(format("node %u: the memory its peer writes to holds bytes that no work request explains",
                        responder_.index));
  if (!target_.guards_intact())
    ground_.fail(format("node %u: bytes beside the target region were written", responder_.index));
}

// ---- RC

std::size_t RcModel::find_next_message() const {
  std::size_t m = next_receive_;
  while (m < log_.size() && !takes_receive(log_[m].op)) ++m;
  return m;
}

void RcModel::receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) {
  if (done.status != Status::success) return receive_failed(receiver, done, receive);
  const std::size_t m = find_next_message();
  if (m == log_.size())
    return ground_.fail(format("node %u receives a message that was never sent", receiver.index));
  const WorkRequest& wr = log_[m];
  const std::string difference = mismatch(wr, done);
  if (!difference.empty()) complain(wr, "is received with a wrong " + difference);
  if (done.length != wr.length) complain(wr, format("is received as %u bytes", done.length));
  if (receive.is_bad && is_send(wr.op) && wr.length != 0)
    complain(wr, "is received into a buffer with a bad key");
  if (!wr.reaches_peer) complain(wr, "is received although it must be refused");
  if (receive.srqn != wr.srqn)
    complain(wr, format("is for SRQ %u and is received by %u", wr.srqn, receive.srqn));
  const Bytes payload = is_send(wr.op) ? Bytes(wr.payload) : Bytes();
  if (!holds(receiver, receive, payload, 0, true)) complain(wr, "is received with wrong bytes");
  // No later work request can have been executed yet: the whole of what was written since must be there,
  // exactly.
  const std::size_t first = executed_count_;
  if (m + 1 > executed_count_) execute(m);
  for (std::size_t k = first; k <= m; ++k) {
    const WorkRequest& w = log_[k];
    if (w.effect.empty()) continue;
    if (std::memcmp(actual(w, w.effect.size()).data(), executed_.data() + w.offset, w.effect.size()) != 0)
      complain(w, format("is not executed as it should be when message %llu is received",
                         static_cast<unsigned long long>(wr.id)));
  }
  next_receive_ = m + 1;
}

void RcModel::check_turn(std::size_t index) {
  if (next_receive_ > index) return complain(log_[index], "is executed after what was posted behind it");
  for (std::size_t k = next_receive_; k < index; ++k) {
    if (takes_receive(log_[k].op) && log_[k].reaches_peer)
      return complain(log_[index], format("is executed before message %llu has arrived",
                                          static_cast<unsigned long long>(log_[k].id)));
  }
}

void RcModel::check_read(std::size_t index) {
  const WorkRequest& wr = log_[index];
  Region* region = node_.memory.find(wr.local);
  if (region == nullptr || wr.length == 0) return check_local(wr, wr.image);
  const std::vector<std::byte> got = gather(wr.sges, region->base, region->bytes());
  std::size_t fence = index + 1;  // what comes after a fence starts only when the read is complete
  while (fence < log_.size() && !log_[fence].fence) ++fence;
  const std::size_t until = is_atomic(wr.op) ? index + 1 : fence;
  if (!explained(wr.offset, got, wr.payload, index + 1, until))
    complain(wr, "returns bytes it cannot have found");
  std::vector<std::byte> expected(wr.image.begin(), wr.image.end());
  scatter(got, 0, wr.sges, region->base, expected);
  check_local(wr, expected);
}

void RcModel::succeeded(std::size_t index) {
  const WorkRequest& wr = log_[index];
  if (takes_receive(wr.op) && next_receive_ <= index) complain(wr, "is acknowledged but was not received");
  if (index + 1 > executed_count_) execute(index);
  if (!wr.effect.empty()) {
    const Bytes should = Bytes(executed_).subspan(wr.offset, wr.effect.size());
    if (!explained(wr.offset, actual(wr, wr.effect.size()), should, index + 1, log_.size()))
      complain(wr, "is acknowledged but the target does not show it");
  }
  if (wr.op == SendOp::flush) return check_flush(index);
  if (wr.op == SendOp::read || is_atomic(wr.op)) return check_read(index);
  check_local(wr, wr.image);
}

// All that was posted before it is there for whoever looks.
void RcModel::check_flush(std::size_t index) {
  const WorkRequest& wr = log_[index];
  if (responder_.flushes < ++flushed_) complain(wr, "is answered but was not executed");
  const Bytes should = Bytes(executed_).subspan(wr.offset, wr.compare);
  if (!explained(wr.offset, actual(wr, wr.compare), should, index + 1, log_.size()))
    complain(wr, "is answered but the target does not show what was written before");
}

// ---- UC

bool UcModel::matches(const WorkRequest& wr, Node& receiver, const ib::RecvDone& done,
                      const PostedReceive& receive) const {
  if (!takes_receive(wr.op) || !wr.reaches_peer || wr.length != done.length || !mismatch(wr, done).empty())
    return false;
  if (is_send(wr.op)) return holds(receiver, receive, wr.payload, 0, false);
  return holds(receiver, receive, {}, 0, false) &&
         (wr.length == 0 || std::memcmp(actual(wr, wr.length).data(), wr.payload.data(), wr.length) == 0);
}

void UcModel::receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) {
  if (done.status != Status::success) return receive_failed(receiver, done, receive);
  std::size_t m = next_receive_;
  while (m < log_.size() && !matches(log_[m], receiver, done, receive)) ++m;
  if (m == log_.size())
    return ground_.fail(
        format("node %u: receive %llu of %u bytes is no message that was sent after the one before",
               receiver.index, static_cast<unsigned long long>(receive.id), done.length));
  if (lossless())
    for (std::size_t k = next_receive_; k < m; ++k)
      if (takes_receive(log_[k].op) && log_[k].reaches_peer)
        complain(log_[k], "is missing although nothing was lost");
  next_receive_ = m + 1;
}

/// Nothing in this run gives the responder a reason to leave a message out.
bool UcModel::lossless() const {
  return !node_.may_lose() && !responder_.ever_empty && !responder_.took_short && !responder_.took_bad &&
         !doomed_ && target_.usable;
}

void UcModel::succeeded(std::size_t index) { check_local(log_[index], log_[index].image); }

void UcModel::finish() {
  StreamModel::finish();
  if (!lossless() || node_.gone_early || responder_.gone_early || failed_ || responder_.error_reported)
    return;
  for (std::size_t k = next_receive_; k < log_.size(); ++k)
    if (takes_receive(log_[k].op) && log_[k].reaches_peer)
      complain(log_[k], "is missing although nothing was lost");
}

}  // namespace softrnic::sim
