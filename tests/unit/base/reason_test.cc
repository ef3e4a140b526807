#include "base/reason.h"

#include <gtest/gtest.h>

namespace softrnic {
namespace {

TEST(Reason, FiguresAreFilledIn) {
  EXPECT_EQ(describe(because(ReasonId::bad_port, 3)), "port 3 does not exist; the device has port 1");
  EXPECT_EQ(describe(because(ReasonId::nak_rkey_unknown, 0xbeef)), "rkey 0xbeef is not registered here");
}

TEST(Reason, EveryReasonHasASentenceAndACure) {
  for (std::size_t i = 1; i < reason_count(); ++i) {
    const ReasonText& text = reason_text(static_cast<ReasonId>(i));
    EXPECT_FALSE(text.sentence.empty()) << text.id;
    EXPECT_FALSE(text.cure.empty()) << text.id;
  }
}

TEST(Reason, UnknownIdIsHarmless) { EXPECT_EQ(reason_text(static_cast<ReasonId>(60000)).id, "none"); }

TEST(Explain, GoesToTheSink) {
  static Explanation last;
  set_explain_sink([](const Explanation& e) { last = e; });
  explain({.qpn = 7, .reason = because(ReasonId::flushed)});
  set_explain_sink(nullptr);
  EXPECT_EQ(last.qpn, 7U);
  EXPECT_EQ(last.reason.id, ReasonId::flushed);
}

}  // namespace
}  // namespace softrnic
