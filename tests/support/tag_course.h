// A course of operations and messages that TagMatching goes through beside a model without lists, places
// and 16-bit counts: what rdma-core's tag_matching.md says, as plainly as possible. Choices come from
// outside, from a seed or from a fuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rnic/tag_matching.h"

namespace softrnic::test {

/// The model.
struct NaiveTags {
  struct Buffer {
    std::uint32_t handle;
    std::uint64_t wr_id, tag, mask, length;
    bool waits;
  };
  std::vector<Buffer> posted;  ///< in order
  std::uint64_t taken = 0;     ///< buffers whose message has not ended
  std::uint64_t told = 0, dealt_with = 0, under_way = 0;

  bool settled() const { return under_way == 0 && told == dealt_with; }
  void look() {
    if (!settled()) return;
    for (Buffer& buffer : posted) buffer.waits = false;
  }
  const Buffer* first(std::uint64_t tag) const {
    for (const Buffer& buffer : posted) {
      if (!buffer.waits && (tag & buffer.mask) == buffer.tag) return &buffer;
    }
    return nullptr;
  }
};

/// `Choose`: choose(n) gives a number below n.
template <typename Choose>
class TagCourse {
 public:
  TagCourse(std::uint32_t tags, Choose& choose) : capacity_(tags), choose_(choose) {
    tags_.allocate({tags, 100});
  }

  /// One step. What has gone otherwise than in the model; nullptr: nothing.
  const char* step() {
    switch (choose_(6)) {
      case 0:
        return add();
      case 1:
        return remove();
      case 2:
        return synchronize();
      case 3:
        return end();
      default:
        return message();
    }
  }

 private:
  struct UnderWay {
    rnic::TagMatch match;
    std::uint64_t wr_id;
  };

  /// A count that a program may tell: the right one, an earlier one, one with 16 bits, or nonsense.
  std::uint32_t count() {
    const auto all = static_cast<std::uint32_t>(model_.told);
    switch (choose_(4)) {
      case 0:
        return all & 0xffff;
      case 1:
        return static_cast<std::uint32_t>(model_.dealt_with + choose_(3));
      case 2:
        return choose_(1U << 16);
      default:
        return all;
    }
  }
  void tell(std::uint32_t count) {
    for (std::uint64_t may_be = model_.dealt_with; may_be <= model_.told; ++may_be) {
      if ((may_be & 0xffff) != (count & 0xffff)) continue;
      model_.dealt_with = may_be;
      break;
    }
    model_.look();
  }
  bool right_flags(const ibv_wc& wc) const {
    return (wc.wc_flags & IBV_WC_TM_SYNC_REQ) == (model_.settled() ? 0U : unsigned{IBV_WC_TM_SYNC_REQ});
  }

  const char* add() {
    ibv_sge sges[2]{{0x1000, choose_(100), 1}, {0x2000, choose_(100), 1}};
    ibv_ops_wr wr{};
    wr.opcode = IBV_WR_TAG_ADD;
    wr.wr_id = 7;
    wr.flags = choose_(2) == 0 ? 0 : IBV_OPS_TM_SYNC;
    wr.tm.unexpected_cnt = count();
    wr.tm.add = {.recv_wr_id = ++last_id_, .sg_list = sges, .num_sge = 2, .tag = choose_(8), .mask = 7};
    if (choose_(4) == 0) wr.tm.add.mask = choose_(8);
    wr.tm.add.tag &= choose_(8) == 0 ? 7 : wr.tm.add.mask;  // a tag beyond its mask matches nothing
    const bool full = model_.posted.size() + model_.taken == capacity_;
    const auto done = tags_.execute(wr);
    if (full) return !done && done.error().error == ENOMEM ? nullptr : "a full list takes a buffer";
    if (!done) return "there is room and a buffer is refused";
    if (wr.flags != 0) tell(wr.tm.unexpected_cnt);
    const auto& added = wr.tm.add;
    model_.posted.push_back({wr.tm.handle, added.recv_wr_id, added.tag, added.mask,
                             std::uint64_t{sges[0].length} + sges[1].length, !model_.settled()});
    old_handles_.push_back(wr.tm.handle);
    return right_flags(*done) && done->opcode == IBV_WC_TM_ADD ? nullptr : "a wrong completion of an ADD";
  }

  const char* remove() {
    if (old_handles_.empty()) return nullptr;
    ibv_ops_wr wr{};
    wr.opcode = IBV_WR_TAG_DEL;
    const auto recent = std::min<std::size_t>(old_handles_.size(), 2 * std::size_t{capacity_});
    wr.tm.handle = old_handles_[old_handles_.size() - 1 - choose_(static_cast<std::uint32_t>(recent))];
    const auto known = std::find_if(model_.posted.begin(), model_.posted.end(),
                                    [&](const auto& buffer) { return buffer.handle == wr.tm.handle; });
    const bool posted = known != model_.posted.end();
    const auto done = tags_.execute(wr);
    if (!done) return "a handle that there was is refused";
    if (posted) model_.posted.erase(known);
    if ((done->status == IBV_WC_SUCCESS) != posted)
      return "what is not posted is deleted, or what is, is not";
    return right_flags(*done) && done->opcode == IBV_WC_TM_DEL ? nullptr : "a wrong completion of a DEL";
  }

  const char* synchronize() {
    ibv_ops_wr wr{};
    wr.opcode = IBV_WR_TAG_SYNC;
    wr.tm.unexpected_cnt = count();
    tell(wr.tm.unexpected_cnt);
    const auto done = tags_.execute(wr);
    return done && right_flags(*done) && done->opcode == IBV_WC_TM_SYNC ? nullptr
                                                                        : "a wrong completion of a SYNC";
  }

  const char* message() {
    using Kind = rnic::TagMessage::Kind;
    rnic::TagMessage message;
    message.kind = static_cast<Kind>(choose_(4));
    message.tag = choose_(8);
    message.length = choose_(250);
    const bool reads = choose_(8) != 0;
    const bool matchable = message.kind == Kind::eager || message.kind == Kind::rendezvous;
    const NaiveTags::Buffer* const first = matchable ? model_.first(message.tag) : nullptr;
    const rnic::TagMatch match = tags_.match(message, reads);
    if ((first != nullptr) != (match.entry != nullptr)) return "matched or not";
    if (first != nullptr && match.entry->buffer.wr_id != first->wr_id) return "another buffer is matched";
    if (match.fate != expected_fate(message, first, reads)) return "another fate";
    if (choose_(8) == 0) return nullptr;  // there is no receive, say: nothing has changed
    tags_.begin(match);
    under_way_.push_back({match, first != nullptr ? first->wr_id : 0});
    if (first != nullptr) {
      model_.posted.erase(model_.posted.begin() + (first - model_.posted.data()));
      ++model_.taken;
    }
    if (match.fate == rnic::TagFate::unexpected) ++model_.under_way;
    return nullptr;
  }
  static rnic::TagFate expected_fate(const rnic::TagMessage& message, const NaiveTags::Buffer* first,
                                     bool reads) {
    using Kind = rnic::TagMessage::Kind;
    if (message.kind == Kind::untagged) return rnic::TagFate::untagged;
    if (first == nullptr) return rnic::TagFate::unexpected;
    if (message.kind == Kind::eager) return rnic::TagFate::eager;
    return reads && message.length <= first->length ? rnic::TagFate::rendezvous : rnic::TagFate::incomplete;
  }

  const char* end() {
    if (under_way_.empty()) return nullptr;
    const std::uint32_t which = choose_(static_cast<std::uint32_t>(under_way_.size()));
    const UnderWay ended = under_way_[which];
    under_way_.erase(under_way_.begin() + which);
    if (ended.match.entry != nullptr) {
      if (ended.match.entry->buffer.wr_id != ended.wr_id)
        return "a buffer has changed while a message had it";
      tags_.release(*ended.match.entry);
      --model_.taken;
    }
    if (ended.match.fate == rnic::TagFate::unexpected) {
      const bool success = choose_(4) != 0;
      tags_.unexpected_ended(success);
      --model_.under_way;
      if (success) ++model_.told;
      model_.look();
    }
    return nullptr;
  }

  const std::uint32_t capacity_;
  Choose& choose_;
  rnic::TagMatching tags_;
  NaiveTags model_;
  std::vector<UnderWay> under_way_;
  std::vector<std::uint32_t> old_handles_;
  std::uint64_t last_id_ = 0;
};

}  // namespace softrnic::test
