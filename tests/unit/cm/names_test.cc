#include <gtest/gtest.h>

#include "base/reason_words.h"
#include "cm/event.h"
#include "cm/messages.h"
#include "cm/state.h"

namespace softrnic::cm {
namespace {

// The words of reasons stand in base, which does not know this layer's enumerations.
TEST(CmNames, ReasonsUseTheSameWords) {
  for (std::size_t i = 0; i < kStates; ++i) {
    EXPECT_EQ(figure_text("cm_state", i), name_of(static_cast<State>(i)));
    EXPECT_FALSE(name_of(static_cast<State>(i)).empty());
  }
  for (const Format& format : formats()) {
    EXPECT_EQ(figure_text("cm_message", static_cast<std::uint64_t>(format.message)), format.name);
  }
  for (std::uint64_t reason = 1; reason <= 35; ++reason) {
    const std::string_view words = words_of(static_cast<RejectReason>(reason));
    EXPECT_EQ(words.empty(), reason == 34) << reason;
    EXPECT_EQ(figure_text("cm_reject", reason), words.empty() ? "34" : words);
  }
}

TEST(CmNames, OfEvents) {
  EXPECT_EQ(name_of(EventKind::request), "request");
  EXPECT_EQ(name_of(EventKind::service_id_timeout), "service id timeout");
  EXPECT_EQ(name_of(EventKind{99}), "");
}

TEST(CmNames, FiveBitTimeouts) {
  EXPECT_EQ(duration_of(0), std::chrono::nanoseconds(4096));
  EXPECT_EQ(duration_of(20), std::chrono::nanoseconds(4096) * (1 << 20));
  EXPECT_EQ(duration_of(31).count(), std::int64_t{4096} << 31);
}

}  // namespace
}  // namespace softrnic::cm
