#include "base/explanation_history.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <tuple>

#include "base/reason_id.h"

namespace softrnic {

bool is_note(ReasonId id) {
  // what RC repairs (IBTA 9.7.5, 9.7.7), injected faults, and what follows from an error that has its own
  // reason
  constexpr ReasonId kNotes[] = {
      ReasonId::none,         ReasonId::drop_qp_not_ready, ReasonId::drop_injected,
      ReasonId::payload_gone, ReasonId::drop_ring_full,    ReasonId::nak_sequence,
      ReasonId::nak_rnr,      ReasonId::nak_atomic_busy,   ReasonId::got_nak_sequence,
      ReasonId::got_nak_rnr,  ReasonId::flushed,           ReasonId::ring_refused,
  };
  return std::find(std::begin(kNotes), std::end(kNotes), id) != std::end(kNotes);
}

std::uint64_t wall_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);  // NOLINT(no-wall-clock): shown to people
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

void ExplanationHistory::add(const Explanation& explanation) {
  const ReasonId id = explanation.reason.id;
  const std::size_t place = place_for(id);
  Entry& entry = entries_[place];
  const bool is_repeat = entry.times != 0 && entry.latest.reason.id == id;
  const bool is_error = entry.times != 0 && !is_note(entry.latest.reason.id);
  if (is_error && is_note(id)) return;
  entry = {explanation, is_repeat ? entry.times + 1 : 1};
  order_[place] = ++added_;
  latest_ = place;
}

/// Its own, an empty one, that of the oldest note, or else that of the oldest error.
std::size_t ExplanationHistory::place_for(ReasonId id) const {
  const auto rank = [&](std::size_t place) {
    const Entry& entry = entries_[place];
    const bool own = entry.times != 0 && entry.latest.reason.id == id;
    const int kind = own ? 0 : entry.times == 0 ? 1 : is_note(entry.latest.reason.id) ? 2 : 3;
    return std::tuple(kind, order_[place]);
  };
  std::size_t best = 0;
  for (std::size_t place = 1; place < kPlaces; ++place)
    if (rank(place) < rank(best)) best = place;
  return best;
}

}  // namespace softrnic
