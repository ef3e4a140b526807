#include "rsocket/receive_ring.h"

#include <algorithm>

#include "base/memory_copy.h"

namespace softrnic::rsocket {

ReceiveRing::ReceiveRing(std::uint32_t size, std::uint16_t messages)
    : half_(size / 2),
      messages_(messages),
      lengths_(messages),
      free_(half_),
      free_at_(half_),
      given_(half_),
      update_at_(static_cast<std::uint16_t>(messages / 2)) {}

bool ReceiveRing::arrived(std::uint32_t length) {
  if (length > given_ || count_ == lengths_.size()) return false;
  if (length == 0) {
    ++read_;
    return true;
  }
  given_ -= length;
  lengths_[(first_ + count_++) % lengths_.size()] = length;
  return true;
}

std::size_t ReceiveRing::copy(Bytes ring, MutableBytes to, bool keep) {
  std::size_t done = 0;
  std::uint32_t offset = offset_;
  std::size_t message = first_;
  std::size_t left = count_;
  std::uint32_t taken = 0;  // of the message at which it ended
  while (left > 0 && done < to.size()) {
    const std::uint32_t size = half_ * 2;
    const auto part = static_cast<std::uint32_t>(
        std::min<std::size_t>({lengths_[message] - taken, to.size() - done, size - offset}));
    copy_memory(to.data() + done, ring.data() + offset, part);
    done += part;
    offset = offset + part == size ? 0 : offset + part;
    taken += part;
    if (taken < lengths_[message]) continue;
    taken = 0;
    message = (message + 1) % lengths_.size();
    --left;
  }
  if (keep) return done;
  read_ = static_cast<std::uint16_t>(read_ + (count_ - left));
  free_ += static_cast<std::uint32_t>(done);
  offset_ = offset;
  first_ = message;
  count_ = left;
  if (left > 0) lengths_[first_] -= taken;
  return done;
}

ReceiveRing::Update ReceiveRing::update() {
  Update update{static_cast<std::uint16_t>(read_ + messages_), std::nullopt};
  update_at_ = static_cast<std::uint16_t>(read_ + messages_ / 2);
  if (half_free()) {
    update.half_at = free_at_;
    free_ -= half_;
    given_ += half_;
    free_at_ = free_at_ == 0 ? half_ : 0;
  }
  return update;
}

}  // namespace softrnic::rsocket
