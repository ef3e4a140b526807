#include "rnic/tag_matching.h"

#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::rnic {
namespace {

constexpr unsigned kKnownFlags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;

Unexpected<Failure> no(int error, ReasonId id, std::uint64_t a, std::uint64_t b = 0) {
  return Unexpected{refuse(error, id, a, b)};
}

TaggedBuffer buffer_of(const ibv_ops_wr& wr) {
  const auto& add = wr.tm.add;
  TaggedBuffer buffer{.wr_id = add.recv_wr_id, .tag = add.tag, .mask = add.mask};
  buffer.sge_count = static_cast<std::uint32_t>(add.num_sge);
  for (std::uint32_t i = 0; i < buffer.sge_count; ++i) {
    const ibv_sge& from = add.sg_list[i];
    buffer.sges[i] = {from.addr, from.length, MemoryKey(from.lkey)};
    buffer.length += from.length;
  }
  return buffer;
}

constexpr ibv_wc_opcode completion_opcode(ibv_ops_wr_opcode opcode) {
  if (opcode == IBV_WR_TAG_ADD) return IBV_WC_TM_ADD;
  return opcode == IBV_WR_TAG_DEL ? IBV_WC_TM_DEL : IBV_WC_TM_SYNC;
}

}  // namespace

bool TagMatching::allocate(const ibv_tm_cap& cap) {
  cap_ = cap;
  return list_.allocate(cap.max_num_tags);
}

Expected<void, Failure> TagMatching::check_add(const ibv_ops_wr& wr) const {
  const int sges = wr.tm.add.num_sge;
  if (sges < 0 || static_cast<std::uint32_t>(sges) > limits::kMaxTagSges)
    return no(EINVAL, ReasonId::too_many_sge, static_cast<std::uint64_t>(sges), limits::kMaxTagSges);
  if (sges > 0 && wr.tm.add.sg_list == nullptr) return no(EINVAL, ReasonId::null_argument, 0);
  if (list_.filled() == list_.capacity()) return no(ENOMEM, ReasonId::tag_list_full, list_.filled());
  return {};
}

// IBV_WR_TAG_SYNC has no other purpose, so that it tells the count with IBV_OPS_TM_SYNC and without.
Expected<ibv_wc, Failure> TagMatching::execute(ibv_ops_wr& wr) {
  const auto flags = static_cast<unsigned>(wr.flags);
  if (wr.opcode > IBV_WR_TAG_SYNC || (flags & ~kKnownFlags) != 0)
    return no(EINVAL, ReasonId::bad_tag_operation, wr.opcode, flags);
  if (wr.opcode == IBV_WR_TAG_ADD) {
    if (auto ok = check_add(wr); !ok) return Unexpected{ok.error()};
  }
  if (wr.opcode == IBV_WR_TAG_DEL && !list_.knows(wr.tm.handle))
    return no(EINVAL, ReasonId::bad_tag_handle, wr.tm.handle, list_.capacity());
  if ((flags & IBV_OPS_TM_SYNC) != 0 || wr.opcode == IBV_WR_TAG_SYNC) dealt_with(wr.tm.unexpected_cnt);
  ibv_wc wc{};
  wc.wr_id = wr.wr_id;
  wc.opcode = completion_opcode(wr.opcode);
  if (wr.opcode == IBV_WR_TAG_ADD) wr.tm.handle = *list_.add(buffer_of(wr), !unexpected_.settled());
  if (wr.opcode == IBV_WR_TAG_DEL && !list_.remove(wr.tm.handle)) {
    wc.status = IBV_WC_TM_ERR;
    wc.vendor_err = static_cast<std::uint32_t>(ReasonId::tag_gone);
  }
  if (!unexpected_.settled()) wc.wc_flags = IBV_WC_TM_SYNC_REQ;
  return wc;
}

void TagMatching::dealt_with(std::uint32_t count) {
  unexpected_.dealt_with(count);
  match_new_ones();
}

void TagMatching::match_new_ones() {
  if (unexpected_.settled()) list_.match_all();
}

// A buffer that is too small for a message in rendezvous is taken all the same: messages behind it must not
// overtake it. If not even the request fits, it is as any receive that is too short.
TagMatch TagMatching::match(const TagMessage& message, bool reads) const {
  using Kind = TagMessage::Kind;
  if (message.kind == Kind::untagged) return {TagFate::untagged};
  const bool matchable = message.kind != Kind::tagged;
  TagEntry* const entry = matchable ? list_.find(message.tag) : nullptr;
  if (entry == nullptr) return {TagFate::unexpected};
  if (message.kind == Kind::eager) return {TagFate::eager, entry};
  return {reads && fits(message, entry->buffer) ? TagFate::rendezvous : TagFate::incomplete, entry};
}

void TagMatching::begin(const TagMatch& match) {
  if (match.entry != nullptr) list_.take(*match.entry);
  if (match.fate == TagFate::unexpected) unexpected_.began();
}

// One that has failed is counted by nobody: if it was all that new buffers waited for, they wait no longer.
void TagMatching::unexpected_ended(bool success) {
  unexpected_.ended(success);
  match_new_ones();
}

}  // namespace softrnic::rnic
