#include "link/stream_faults.h"

#include <algorithm>

namespace softrnic::link {

// Every write draws the same number of times, so that one fault's chance does not shift the others' dice.
StreamFaults::Fate StreamFaults::befall(std::span<Bytes>& pieces) {
  const bool cut = dice_.roll() < plan_.cut;
  const bool stall = dice_.roll() < plan_.stall;
  const bool splits = dice_.roll() < plan_.split;
  const bool corrupt = dice_.roll() < plan_.corrupt;
  const std::size_t most = 1 + dice_.draw() % kLongestSplit;
  const std::uint64_t bit = dice_.draw();
  if (cut) return Fate::cut;
  if (stall) return Fate::stalls;
  if (splits) split(pieces, most);
  if (corrupt) damage(pieces, bit);
  return Fate::passes;
}

void StreamFaults::split(std::span<Bytes>& pieces, std::size_t most) const {
  std::size_t count = 0;
  while (count < pieces.size() && most > 0) {
    pieces[count] = pieces[count].first(std::min(pieces[count].size(), most));
    most -= pieces[count++].size();
  }
  pieces = pieces.first(count);
}

void StreamFaults::damage(std::span<Bytes> pieces, std::uint64_t bit) {
  std::size_t bytes = 0;
  for (const Bytes piece : pieces) bytes += piece.size();
  if (bytes == 0) return;
  std::size_t at = bit / 8 % bytes;
  for (Bytes& piece : pieces) {
    if (at >= piece.size()) {
      at -= piece.size();
      continue;
    }
    damaged_.assign(piece.begin(), piece.end());
    damaged_[at] ^= static_cast<std::byte>(1U << (bit % 8));
    piece = damaged_;
    return;
  }
}

}  // namespace softrnic::link
