#include "control/explain_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/reason_id.h"
#include "control/page_reader.h"

namespace softrnic::control {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ExplainSink, NamesTheObjectTheFiguresAndTheCure) {
  Explanation explanation;
  explanation.qpn = 0x10002;
  explanation.has_wr_id = true;
  explanation.wr_id = 7;
  explanation.reason = because(ReasonId::nak_sequence, 5, 9);
  const std::string line = format_explanation(explanation, 3);
  EXPECT_THAT(line, StartsWith("softrnic: QP 0x10002 wr_id 7: expected PSN 5 but PSN 9 came"));
  EXPECT_THAT(line, HasSubstr("sq_psn"));
  EXPECT_THAT(line, EndsWith("[and 3 more of these]\n"));
  EXPECT_THAT(format_explanation({.reason = because(ReasonId::bad_port, 2)}, 0),
              StartsWith("softrnic: port 2"));
}

TEST(ExplainSink, SpeaksChinese) {
  const Explanation explanation{.qpn = 7, .peer_qpn = 8, .reason = because(ReasonId::nak_sequence, 5, 9)};
  set_language(Language::chinese);
  const std::string line = format_explanation(explanation, 3);
  set_language(Language::english);
  EXPECT_THAT(line, StartsWith("softrnic: QP 0x7（对端 0x8）: 应收到 PSN 5，却收到 PSN 9"));
  EXPECT_THAT(line, EndsWith(" [另有 3 条相同]\n"));
}

TEST(RepeatLimit, SwallowsRepeatsAndCountsThem) {
  RepeatLimit limit;
  Explanation explanation;
  explanation.reason = because(ReasonId::nak_sequence, 5, 9);
  unsigned printed = 0;
  for (int i = 0; i < 100; ++i) printed += limit.admit(explanation, TimePoint{} + 1s).pass ? 1 : 0;
  EXPECT_EQ(printed, RepeatLimit::kPerSecond);
  explanation.qpn = 5;  // another QP is another matter
  EXPECT_TRUE(limit.admit(explanation, TimePoint{} + 1s).pass);
  explanation.qpn = 0;
  const auto later = limit.admit(explanation, TimePoint{} + 3s);
  EXPECT_TRUE(later.pass);
  EXPECT_EQ(later.repeats, 100 - RepeatLimit::kPerSecond);
}

TEST(PageWriter, IsReadAsItWasWritten) {
  PageWriter page;
  ASSERT_GE(page.fd(), 0);
  PageLane* lane = page.add_lane(7);
  ASSERT_NE(lane, nullptr);
  lane->counters[static_cast<std::size_t>(ib::Counter::drop_icrc)].store(42);
  for (std::uint64_t i = 0; i < kPageExplanations + 10; ++i) {
    Explanation explanation;
    explanation.qpn = static_cast<std::uint32_t>(i);
    explanation.reason = because(ReasonId::bad_port, i);
    page.record(explanation);
  }
  const auto reader = PageReader::open(page.fd());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->process().pid, getpid());
  EXPECT_FALSE(reader->process().comm.empty());
  ASSERT_EQ(reader->lanes().size(), 1U);
  EXPECT_EQ(reader->lanes()[0].lane, 7U);
  EXPECT_EQ(reader->lanes()[0].counters[static_cast<std::size_t>(ib::Counter::drop_icrc)], 42U);
  const auto explanations = reader->explanations();
  ASSERT_EQ(explanations.size(), kPageExplanations);
  EXPECT_EQ(explanations.front().qpn, 10U);
  EXPECT_EQ(explanations.back().reason.figures[0], kPageExplanations + 9);
  EXPECT_TRUE(reader->qps().empty());
  page.remove_lane(lane);
  EXPECT_TRUE(reader->lanes().empty());
}

TEST(PageReader, WhatFormerLanesHaveCountedStays) {
  PageWriter page;
  constexpr auto kAt = static_cast<std::size_t>(ib::Counter::tx_packets);
  for (int round = 0; round < 40; ++round) {
    PageLane* const lane = page.add_lane(1);
    ASSERT_NE(lane, nullptr);
    EXPECT_EQ(lane->counters[kAt].load(), 0U);
    lane->counters[kAt].store(5);
    page.remove_lane(lane);
  }
  const auto reader = PageReader::open(page.fd());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->counted()[kAt], 200U);
}

TEST(PageReader, RefusesWhatIsNoPage) {
  const int fd = memfd_create("x", MFD_ALLOW_SEALING);
  EXPECT_EQ(PageReader::open(fd).error(), EPERM);  // not sealed
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(PageReader::open(fd).error(), EMSGSIZE);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(kPageBytes)), 0);
  EXPECT_EQ(PageReader::open(fd).error(), EPROTO);
  close(fd);
}

}  // namespace
}  // namespace softrnic::control
