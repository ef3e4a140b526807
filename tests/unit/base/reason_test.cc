#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "base/reason_words.h"

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

TEST(Reason, WordsStandForNumbers) {
  EXPECT_EQ(describe(because(ReasonId::post_send_state, 1)), "ibv_post_send on a QP in state INIT");
  EXPECT_EQ(describe(because(ReasonId::missing_qp_attributes, 1, 1 << 20 | 1 << 8, 1, 2)),
            "the mask for INIT to RTR lacks IBV_QP_PATH_MTU|IBV_QP_DEST_QPN (it is IBV_QP_STATE)");
  EXPECT_EQ(describe(because(ReasonId::drop_unknown_qpn, 0x10002, 4, 0, 0xffff'0a00'0002)),
            "a packet (RC Send Only) from 10.0.0.2 is for QP 0x10002, which does not exist here");
}

// Any user chooses what his programs are called.
TEST(Reason, NamesOfProgramsCannotSpeakToTheTerminal) {
  const auto sentence = [](std::string_view name) {
    const auto [first, second] = program_figures(name);
    return describe(because(ReasonId::daemon_name_taken, 7, 42, first, second));
  };
  EXPECT_NE(sentence("nc").find("user 7: process 42, 'nc'"), std::string::npos) << sentence("nc");
  EXPECT_NE(sentence("\x1b]0;a\x07\\\x9b").find("'\\033]0;a\\007\\134\\233'"), std::string::npos)
      << sentence("\x1b]0;a\x07\\\x9b");
  EXPECT_NE(sentence("0123456789abcdef").find("'0123456789abcdef'"), std::string::npos);
  EXPECT_NE(sentence("").find("cannot be seen"), std::string::npos);
}

// {N} or {N:FORM}, with a form that there is; a cure has no figures.
TEST(Reason, EveryPlaceForAFigureIsWellFormed) {
  for (std::size_t i = 0; i < reason_count(); ++i) {
    const ReasonText& text = reason_text(static_cast<ReasonId>(i));
    EXPECT_EQ(text.cure.find('{'), std::string_view::npos) << text.id;
    std::string_view rest = text.sentence;
    for (auto open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
      rest.remove_prefix(open + 1);
      const std::string_view field = rest.substr(0, rest.find('}'));
      ASSERT_FALSE(field.empty()) << text.id;
      EXPECT_TRUE(field[0] >= '0' && field[0] <= '3') << text.id;
      EXPECT_TRUE(field.size() == 1 || field[1] == ':') << text.id;
      EXPECT_TRUE(is_figure_form(field.size() == 1 ? "" : field.substr(2))) << text.id << ": " << field;
    }
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
