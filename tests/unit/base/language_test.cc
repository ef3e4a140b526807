#include "base/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/reason_id.h"
#include "base/reason_words.h"

namespace softrnic {
namespace {

using testing::HasSubstr;

constexpr std::size_t kWordsOfASentence = 4;  ///< English names of things are shorter

/// U+3400 to U+9FFF in UTF-8.
bool has_han(std::string_view text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0xe3 || lead > 0xe9) continue;
    const int code = (lead & 0xf) << 12 | (text[i + 1] & 0x3f) << 6 | (text[i + 2] & 0x3f);
    if (code >= 0x3400 && code <= 0x9fff) return true;
  }
  return false;
}

/// Whether words of small letters follow each other as in an English sentence, outside commands.
bool has_english_sentence(std::string_view text) {
  std::size_t words = 0;
  bool in_word = false, in_command = false;
  for (const char c : text) {
    if (c == '`') in_command = !in_command;
    const bool is_letter = c >= 'a' && c <= 'z' && !in_command;
    if (is_letter && !in_word) ++words;
    if (words >= kWordsOfASentence) return true;
    if (!is_letter && c != ' ') words = 0;
    in_word = is_letter;
  }
  return false;
}

/// The places for figures, in the order of the alphabet: a translation has the same in another order.
std::vector<std::string> figures_of(std::string_view text) {
  std::vector<std::string> out;
  for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    text.remove_prefix(open);
    out.emplace_back(text.substr(0, text.find('}') + 1));
    text.remove_prefix(1);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Chinese, EveryReasonIsTranslated) {
  for (std::size_t i = 0; i < reason_count(); ++i) {
    const auto id = static_cast<ReasonId>(i);
    const ReasonText& english = reason_text(id, Language::english);
    const ReasonText& chinese = reason_text(id, Language::chinese);
    EXPECT_EQ(chinese.id, english.id);
    EXPECT_TRUE(has_han(chinese.sentence)) << chinese.id << ": " << chinese.sentence;
    EXPECT_EQ(has_han(chinese.cure), !english.cure.empty()) << chinese.id << ": " << chinese.cure;
    EXPECT_FALSE(has_english_sentence(chinese.sentence)) << chinese.id << ": " << chinese.sentence;
    EXPECT_FALSE(has_english_sentence(chinese.cure)) << chinese.id << ": " << chinese.cure;
  }
}

TEST(Chinese, HasTheFiguresOfTheEnglish) {
  for (std::size_t i = 0; i < reason_count(); ++i) {
    const auto id = static_cast<ReasonId>(i);
    const std::string_view chinese = reason_text(id, Language::chinese).sentence;
    EXPECT_EQ(figures_of(chinese), figures_of(reason_text(id, Language::english).sentence)) << chinese;
  }
}

TEST(Chinese, FiguresStandWhereTheSentenceWantsThem) {
  const Reason reason = because(ReasonId::bad_qp_attribute, 1 << 9, 40, 31);
  EXPECT_EQ(describe(reason, Language::chinese), "IBV_QP_TIMEOUT 对应属性的值 40 超出范围（最大 31）");
  EXPECT_EQ(describe(because(ReasonId::drop_lane_overflow, 12, 3), Language::chinese),
            "泳道 3 的接收缓冲区已满，内核丢弃了 12 个报文");
}

TEST(Chinese, WordsForNumbersAreTranslated) {
  EXPECT_EQ(figure_text("object", 3, Language::chinese), "完成通道");
  EXPECT_EQ(figure_text("object", 4, Language::chinese), "QP");
  EXPECT_EQ(figure_text("sidr", 2, Language::chinese), "已拒绝");
  EXPECT_EQ(figure_text("errno", ECONNREFUSED, Language::chinese), "连接被拒绝 ECONNREFUSED");
  EXPECT_EQ(figure_text("errno", EL2HLT, Language::chinese), figure_text("errno", EL2HLT, Language::english));
  EXPECT_EQ(figure_text("program", 0, 0, Language::chinese), "从这里看不到的程序");
  for (std::uint64_t reject = 1; reject <= 35; ++reject) {
    const std::string words = figure_text("cm_reject", reject, Language::chinese);
    EXPECT_TRUE(has_han(words) || reject == 34) << words;
  }
}

TEST(Chinese, IsSpokenWhenItIsSet) {
  EXPECT_EQ(language(), Language::english);
  set_language(Language::chinese);
  EXPECT_EQ(describe(because(ReasonId::bad_port, 3)), "端口 3 不存在；设备只有端口 1");
  EXPECT_THAT(std::string(reason_text(ReasonId::bad_port).cure), HasSubstr("使用"));
  set_language(Language::english);
  EXPECT_EQ(describe(because(ReasonId::bad_port, 3)), "port 3 does not exist; the device has port 1");
}

TEST(Chinese, TheTestsOfTextsCanFail) {
  EXPECT_FALSE(has_han("port 3, “…” é"));
  EXPECT_TRUE(has_english_sentence("QP 不在 the state of a 状态"));
  EXPECT_FALSE(has_english_sentence("见 `ping -M do -s SIZE PEER` 的输出"));
}

}  // namespace
}  // namespace softrnic
