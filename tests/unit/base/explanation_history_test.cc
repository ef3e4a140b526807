#include "base/explanation_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_id.h"

namespace softrnic {
namespace {

using testing::Contains;
using testing::Not;

Explanation of(ReasonId id, std::uint64_t figure = 0) { return {.reason = because(id, figure)}; }

std::vector<ReasonId> ids(const ExplanationHistory& history) {
  std::vector<ReasonId> out;
  for (const auto& entry : history.entries())
    if (entry.times != 0) out.push_back(entry.latest.reason.id);
  return out;
}

constexpr ReasonId kErrors[] = {
    ReasonId::nak_rkey_unknown, ReasonId::nak_rkey_range, ReasonId::retry_exceeded, ReasonId::local_length,
    ReasonId::post_send_state,  ReasonId::too_many_sge,   ReasonId::bad_response};
constexpr ReasonId kNotes[] = {ReasonId::nak_sequence, ReasonId::got_nak_sequence, ReasonId::nak_rnr,
                               ReasonId::got_nak_rnr,  ReasonId::flushed,          ReasonId::drop_injected,
                               ReasonId::payload_gone, ReasonId::nak_atomic_busy};

TEST(ExplanationHistory, WhatComesAfterwardsDoesNotHideWhatMattered) {
  ExplanationHistory history;
  history.add(of(ReasonId::nak_rkey_unknown, 0xbeef));
  for (int i = 0; i < 100; ++i)
    for (const ReasonId note : kNotes) history.add(of(note));
  EXPECT_THAT(ids(history), Contains(ReasonId::nak_rkey_unknown));
  EXPECT_EQ(history.latest().reason.id, ReasonId::nak_atomic_busy);
}

TEST(ExplanationHistory, RepeatsAreCountedAndTakeOnePlace) {
  ExplanationHistory history;
  for (std::uint64_t i = 0; i < 50; ++i) history.add(of(ReasonId::send_queue_full, i));
  ASSERT_EQ(ids(history).size(), 1U);
  EXPECT_EQ(history.entries()[0].times, 50U);
  EXPECT_EQ(history.entries()[0].latest.reason.figures[0], 49U) << "the latest figures";
}

TEST(ExplanationHistory, NotesMakePlaceForErrorsAndTheOldestGoesFirst) {
  ExplanationHistory history;
  for (const ReasonId note : kNotes) history.add(of(note));
  for (const ReasonId error : kErrors) history.add(of(error));
  EXPECT_THAT(ids(history), Not(Contains(kErrors[0])));
  for (std::size_t i = 1; i < std::size(kErrors); ++i) EXPECT_THAT(ids(history), Contains(kErrors[i]));
  history.add(of(ReasonId::flushed));
  EXPECT_THAT(ids(history), Not(Contains(ReasonId::flushed)));
  EXPECT_EQ(history.latest().reason.id, kErrors[6]);
}

}  // namespace
}  // namespace softrnic
