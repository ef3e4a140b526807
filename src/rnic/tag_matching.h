// Tag matching of an SRQ, without receives, queue pairs and locks: what the operations of the program and the
// messages of peers do to the matching list.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/tag_list.h"
#include "rnic/unexpected_messages.h"

namespace softrnic::rnic {

/// What becomes of a message.
enum class TagFate : std::uint8_t {
  plain,       ///< not looked at (WRITE with immediate data): the next receive
  untagged,    ///< the next receive
  unexpected,  ///< the next receive; counted
  eager,       ///< into a tagged buffer
  rendezvous,  ///< a tagged buffer, into which its payload is to be fetched
  incomplete,  ///< the same, which cannot be done: the message itself is put there, and the program goes on
};

struct TagMatch {
  TagFate fate = TagFate::plain;
  TagEntry* entry = nullptr;  ///< of the last three

  bool takes_receive() const { return entry == nullptr; }
};

/// Not thread-safe.
class TagMatching {
 public:
  /// Within the limits of the device, more than none. False: no memory.
  bool allocate(const ibv_tm_cap& cap);

  const ibv_tm_cap& cap() const { return cap_; }
  std::uint32_t filled() const { return list_.filled(); }

  /// Carries out one operation of ibv_post_srq_ops; an ADD gets its handle. The completion, if one is wanted.
  /// EINVAL: opcode, flags, SGEs, handle; ENOMEM: full. Then nothing has changed. Not explained yet.
  Expected<ibv_wc, Failure> execute(ibv_ops_wr& wr);

  /// What a message matches. Nothing changes. `reads`: its queue pair may send READs.
  TagMatch match(const TagMessage& message, bool reads) const;
  /// The message takes what it has matched: the entry, which is its own until release(), or a receive.
  void begin(const TagMatch& match);
  /// A message that was unexpected has ended.
  void unexpected_ended(bool success);
  void release(TagEntry& entry) { list_.release(entry); }
  /// Whether a completion of an unexpected message asks for IBV_WR_TAG_SYNC.
  bool urgent() const { return unexpected_.urgent(); }

 private:
  Expected<void, Failure> check_add(const ibv_ops_wr& wr) const;
  void dealt_with(std::uint32_t count);
  void match_new_ones();

  ibv_tm_cap cap_{};
  TagList list_;
  UnexpectedMessages unexpected_;
};

}  // namespace softrnic::rnic
