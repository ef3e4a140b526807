// What others say - a server's refusal, names of files and processes - does nothing to the terminal.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/copy_options.h"
#include "cli/copy_progress.h"
#include "cli/output.h"

namespace softrnic::cli {
namespace {

const std::string kEvil =
    "\x1b]0;owned\x07\x1b[2J\r\n\xc2\x9b"
    "31m\xff\u202etxt.exe";

/// No character that a terminal acts upon, but for line ends and those that `own` says.
void expect_harmless(std::string text, const std::string& own = "") {
  EXPECT_NE(text.find("txt.exe"), std::string::npos) << "it is told";
  for (std::size_t at = 0; !own.empty() && (at = text.find(own, at)) != std::string::npos;)
    text.erase(at, own.size());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  for (const char* bad : {"\x1b", "\x07", "\r", "\xc2\x9b", "\xff", "\u202e"})
    EXPECT_EQ(text.find(bad), std::string::npos) << text;
}

template <typename Act>
std::string said(Act act, bool on_stderr = true) {
  on_stderr ? testing::internal::CaptureStderr() : testing::internal::CaptureStdout();
  act();
  std::fflush(nullptr);
  return on_stderr ? testing::internal::GetCapturedStderr() : testing::internal::GetCapturedStdout();
}

TEST(ForeignText, RefusalsOfAServer) {
  const copy::Error refusal{copy::Trouble::refused, 0, "the server refuses: " + kEvil};
  expect_harmless(said([&] { EXPECT_EQ(report(refusal), kRefused); }));
}

TEST(ForeignText, NamesInTroublesAndNotices) {
  for (const auto style : {CopyProgress::Style::plain, CopyProgress::Style::quiet})
    expect_harmless(said([&] { CopyProgress(style).trouble(kEvil, 0, kEvil); }));
  expect_harmless(said([&] { CopyProgress(CopyProgress::Style::plain).notice(kEvil, kEvil); }, false));
}

TEST(ForeignText, TheNameInTheProgressBar) {
  const std::string drawn = said([&] {
    CopyProgress progress(CopyProgress::Style::bar);
    progress.file(kEvil);
    progress.moved(1);
    std::fprintf(stderr, "\n");
  });
  expect_harmless(drawn, "\r\x1b[K");
}

TEST(ForeignText, ALongNameInTheProgressBarIsCutBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 200; ++i) name += i % 3 == 0 ? "é" : "日";
  for (std::size_t cut = 0; cut < 4; ++cut) {
    const std::string drawn = said([&] {
      CopyProgress progress(CopyProgress::Style::bar);
      progress.file(name + std::string(cut, 'x') + "txt.exe");
      progress.moved(1);
      std::fprintf(stderr, "\n");
    });
    const std::string shown = drawn.substr(drawn.find("…"));
    EXPECT_EQ(printable(shown.substr(0, shown.find_first_of("\r\n"))).find('\\'), std::string::npos) << shown;
  }
}

TEST(ForeignText, Json) {
  expect_harmless(said([] { print_json(Json(kEvil)); }, false));
}

TEST(ForeignText, JsonKeepsTroublesUpToALimit) {
  const std::string long_text(1 << 16, 'x');
  const std::string json = said(
      [&] {
        CopyProgress progress(CopyProgress::Style::json);
        for (int i = 0; i < 2000; ++i) progress.trouble("file", EACCES, long_text);
        progress.finish({});
      },
      false);
  const Json read = Json::parse(json).value_or(Json());
  EXPECT_LT(json.size(), 70U << 20) << "125 MiB were told";
  ASSERT_NE(read.find("left_out"), nullptr) << json.substr(0, 1000);
  EXPECT_EQ(static_cast<double>(read.find("troubles")->elements().size()) + read.find("left_out")->number(),
            2000);
}

TEST(ForeignText, NamesThatAreEmphasised) { EXPECT_EQ(strong(kEvil).find('\x1b'), std::string::npos); }

}  // namespace
}  // namespace softrnic::cli
