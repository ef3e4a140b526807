#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/reason.h"
#include "base/settings.h"
#include "cli/commands.h"
#include "cli/link_options.h"

namespace softrnic::cli {
namespace {

struct Result {
  int code;
  std::string out, err;
};

Result run(std::vector<const char*> words) {
  words.insert(words.begin(), "softrnic");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_command_line(static_cast<int>(words.size()), words.data());
  std::fflush(stdout);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, TypoGetsASuggestionAndCodeTwo) {
  const Result r = run({"stta"});
  EXPECT_EQ(r.code, kUsage);
  EXPECT_NE(r.err.find("did you mean 'stat'?"), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_NE(run({"run", "--explian", "--", "true"}).err.find("'--explain'"), std::string::npos);
  EXPECT_NE(run({"explain", "nak_rkey_rnge"}).err.find("nak_rkey_range"), std::string::npos);
}

TEST(CommandLine, OfWhatIsNotKnownThereIsNoHelp) {
  const Result r = run({"stta", "--help"});
  EXPECT_EQ(r.code, kUsage);
  EXPECT_NE(r.err.find("did you mean 'stat'?"), std::string::npos) << r.err;
  EXPECT_EQ(run({"--help", "stta"}).code, kUsage);
  EXPECT_EQ(run({"fabric", "pu", "--help"}).code, kUsage);
  EXPECT_EQ(run({"stat", "--jsno", "--help"}).code, kUsage);
  EXPECT_EQ(run({"--help"}).code, kDone);
}

TEST(CommandLine, NothingSaidIsAUsageError) {
  EXPECT_EQ(run({}).code, kUsage);
  EXPECT_EQ(run({"run"}).code, kUsage);
  EXPECT_EQ(run({"resource", "show", "everything"}).code, kUsage);
  EXPECT_EQ(run({"daemon", "--stop", "--status"}).code, kUsage);
  EXPECT_EQ(run({"link", "add", "x", "type", "ib", "netdev", "lo"}).code, kUsage);
}

TEST(CommandLine, TheTypesOfLinks) {
  device::NewDevice device;
  EXPECT_EQ(parse_link({"iw0", "type", "iwarp", "netdev", "lo"}, device), "");
  EXPECT_EQ(device.kind, device::Kind::iwarp);
  EXPECT_EQ(device.name + device.netdev, "iw0lo");
  for (const char* const type : {"rocev2", "roce"}) {
    EXPECT_EQ(parse_link({"x", "type", type, "netdev", "lo"}, device), "");
    EXPECT_EQ(device.kind, device::Kind::roce_v2) << type;
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"x"}, {"x", "netdev"}, {"x", "type", "iwarp"}, {"x", "kind", "iwarp", "netdev", "lo"}})
    EXPECT_NE(parse_link(words, device = {}), "") << words.size();
}

TEST(CommandLine, WhatLinksAskOfTheirPeers) {
  device::NewDevice device;
  EXPECT_EQ(parse_link({"iw0", "type", "iwarp", "crc", "on", "netdev", "lo"}, device), "");
  EXPECT_EQ(device.mpa, (wire::MpaDemands{.crc = true, .markers = false}));
  EXPECT_EQ(parse_link({"iw0", "netdev", "lo", "markers", "on", "crc", "off"}, device), "");
  EXPECT_EQ(device.mpa, (wire::MpaDemands{.crc = false, .markers = true}));
  EXPECT_NE(parse_link({"iw0", "type", "iwarp", "crc", "yes", "netdev", "lo"}, device), "");
}

TEST(CommandLine, HelpHasExamples) {
  for (const char* command : {"run", "shell", "dev", "link", "resource", "stat", "explain", "cp", "serve",
                              "ping", "daemon", "doctor", "system", "env"}) {
    const Result r = run({command, "--help"});
    EXPECT_EQ(r.code, kDone) << command;
    EXPECT_NE(r.out.find("Examples:"), std::string::npos) << command;
  }
}

TEST(CommandLine, ReasonTable) {
  const Result one = run({"explain", "retry_exceeded", "--json"});
  EXPECT_EQ(one.code, kDone);
  EXPECT_EQ(nlohmann::json::parse(one.out)["id"], "retry_exceeded");
  const auto all = nlohmann::json::parse(run({"--json", "explain", "--list"}).out);
  EXPECT_EQ(all.size(), reason_count() - 1);
}

TEST(CommandLine, SettingsTable) {
  const auto rows = nlohmann::json::parse(run({"env", "--json"}).out);
  EXPECT_EQ(rows.size(), setting_table().size());
  EXPECT_EQ(rows[0]["name"], "SOFTRNIC_EXPLAIN");
}

TEST(CommandLine, NoColourWhenPiped) {
  const Result r = run({"explain", "--list"});
  EXPECT_EQ(r.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace softrnic::cli
