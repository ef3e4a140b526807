// A queue pair of an SRQ with tag matching: what becomes of its messages, and how the program is told
// (tag_matching.md, "TM completion processing"; flags, lengths and order as with mlx5).
//
// A message of one packet has one completion. Of a longer one, and of a rendezvous, the match is told at
// once, and when the data is there a second time. Whatever has taken a tagged buffer ends with a completion
// of it.
#include "base/reason_id.h"
#include "rnic/queue_pair.h"
#include "rnic/shared_receive_queue.h"
#include "rnic/tag_info.h"

namespace softrnic::rnic {
namespace {

constexpr unsigned kDataIsThere = IBV_WC_TM_DATA_VALID;
constexpr unsigned kMatchedAndThere = IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID;

constexpr ibv_wc_opcode opcode_of(TagFate fate, ibv_wc_opcode plain) {
  if (fate == TagFate::plain) return plain;
  return fate == TagFate::untagged ? IBV_WC_TM_NO_TAG : IBV_WC_TM_RECV;
}

/// Of a success.
void tell_match(const TagMessage& message, TagFate fate, ibv_wc& wc) {
  if (fate == TagFate::eager) {
    wc.byte_len -= TagMessage::kEagerHeader;
    wc.wc_flags |= message.whole ? kMatchedAndThere : kDataIsThere;
  } else if (fate == TagFate::rendezvous) {
    wc.byte_len = 0;
    wc.wc_flags |= IBV_WC_TM_MATCH;
  } else {
    wc.status = IBV_WC_TM_RNDV_INCOMPLETE;
    wc.wc_flags |= kMatchedAndThere;
  }
  if ((wc.wc_flags & IBV_WC_TM_MATCH) != 0) TagInfo{message.tag, message.app_ctx}.put(wc);
}

}  // namespace

const ib::RecvWqe* QueuePair::take_receive_for(Bytes first, std::size_t size, bool whole) {
  const TagMessage message = TagMessage::parse(first, size, whole);
  // before RTS it is not known yet, and the READ waits
  const bool reads = state_ == IBV_QPS_RTR || attributes_.transport.max_reads_out != 0;
  const ib::RecvWqe* const receive = receives_.take(message, reads);
  if (receive == nullptr || receives_.match().fate != TagFate::eager || whole) return receive;
  ibv_wc wc = completion(receive->wr_id, ib::Status::success, {});
  wc.opcode = IBV_WC_TM_RECV;
  wc.wc_flags = IBV_WC_TM_MATCH;
  TagInfo{message.tag, message.app_ctx}.put(wc);
  lane_.deliver(*receives_.cq(), wc, false);
  return receive;
}

void QueuePair::complete_tagged(const ib::RecvDone& done) {
  const TagMatch match = receives_.match();
  const bool success = done.status == ib::Status::success;
  ibv_wc wc = receive_completion(done);
  wc.opcode = opcode_of(match.fate, wc.opcode);
  if (receives_.srq().ended(match, success)) wc.wc_flags |= IBV_WC_TM_SYNC_REQ;
  if (match.entry != nullptr) {
    if (success) tell_match(receives_.message(), match.fate, wc);
    match.entry->message = receives_.message();
    match.entry->solicited = done.solicited;
    if (wc.status == IBV_WC_TM_RNDV_INCOMPLETE) explain_incomplete(*match.entry);
    if (success && match.fate == TagFate::rendezvous) {
      rendezvous_->add(*match.entry);
    } else {
      receives_.srq().release(*match.entry);
    }
  }
  lane_.deliver(*receives_.cq(), wc, done.solicited);
}

void QueuePair::explain_incomplete(const TagEntry& entry) {
  const bool too_long = !fits(entry.message, entry.buffer);
  const auto id = too_long ? ReasonId::rendezvous_too_long : ReasonId::rendezvous_without_reads;
  explain(because(id, entry.message.length, entry.buffer.length), &entry.buffer.wr_id);
}

// Of a FIN that does not arrive the program hears by an event, as no completion tells of it.
void QueuePair::complete_rendezvous(const ib::SendDone& done) {
  if (TagEntry* const entry = rendezvous_->ended(done.op))
    return end_rendezvous(*entry, done.status, done.reason);
  if (done.status != ib::Status::success && done.status != ib::Status::flushed)
    events_.raise(ib::QpEvent::fatal);
}

void QueuePair::end_rendezvous(TagEntry& entry, ib::Status status, const Reason& reason) {
  ibv_wc wc = completion(entry.buffer.wr_id, status, reason);
  wc.opcode = IBV_WC_TM_RECV;
  if (status == ib::Status::success) {
    wc.byte_len = entry.message.length;
    wc.wc_flags = kDataIsThere;
  }
  const bool solicited = entry.solicited;
  receives_.srq().release(entry);
  lane_.deliver(*receives_.cq(), wc, solicited);
}

void QueuePair::flush_waiting_rendezvous() {
  while (TagEntry* const entry = rendezvous_->cancel_waiting())
    end_rendezvous(*entry, ib::Status::flushed, because(ReasonId::flushed));
}

// RESET and destruction: the endpoint has forgotten all, and completions of the queue pair are removed. But
// what it has taken is the SRQ's, whose program waits for it.
void QueuePair::give_up_tags() {
  SharedReceiveQueue& srq = receives_.srq();
  const Reason reason = because(ReasonId::flushed);
  const auto flush = [&](std::uint64_t wr_id, ibv_wc_opcode opcode) {
    ibv_wc wc = completion(wr_id, ib::Status::flushed, reason);
    wc.opcode = opcode;
    srq.flush(wc);
  };
  if (const auto wr_id = receives_.cancel_taken()) {
    const TagMatch match = receives_.match();
    srq.ended(match, false);
    if (match.entry != nullptr) srq.release(*match.entry);
    if (match.fate != TagFate::plain) flush(*wr_id, opcode_of(match.fate, IBV_WC_RECV));
  }
  while (TagEntry* const entry = rendezvous_->forget()) {
    const std::uint64_t wr_id = entry->buffer.wr_id;
    srq.release(*entry);
    flush(wr_id, IBV_WC_TM_RECV);
  }
}

}  // namespace softrnic::rnic
