#include "fabricd/sa_client.h"

#include <gtest/gtest.h>

#include <vector>

#include "mad/component_mask.h"
#include "mad/sa_path_records.h"

namespace softrnic::fabricd {
namespace {

using namespace std::chrono_literals;
using mad::PathRecord;

constexpr TimePoint kStart = TimePoint{} + 1h;

class SaClientTest : public testing::Test {
 protected:
  SaClientTest() {
    client_.send = [this](std::uint8_t, const mad::Mad& mad) {
      sent_.push_back(mad);
      if (answers_at_once_) client_.receive(response_to(mad));
    };
  }
  SaClient::Token ask(TimePoint deadline = kNever) {
    PathRecord record;
    record.num_paths = 1;
    return client_.ask(
        1, mad::Method::get, record, mad::component<PathRecord>("num_paths"), {kStart, deadline},
        [this](const SaAnswer& answer) { errors_.push_back(answer ? 0 : answer.error().error); });
  }
  static mad::Mad response_to(mad::Mad mad) {
    auto header = *mad::parse_header(mad);
    header.method = mad::Method::get_response;
    mad::encode_header(header, mad);
    return mad;
  }

  SaClient client_;
  std::vector<mad::Mad> sent_;
  std::vector<int> errors_;
  bool answers_at_once_ = false;
};

TEST_F(SaClientTest, AResponseEndsItsQuestion) {
  const auto token = ask();
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_TRUE(client_.waits(token));
  EXPECT_TRUE(client_.receive(response_to(sent_[0])));
  EXPECT_EQ(errors_, std::vector{0});
  EXPECT_FALSE(client_.waits(token));
  EXPECT_TRUE(client_.receive(response_to(sent_[0]))) << "a late one is for nobody else";
  EXPECT_EQ(errors_.size(), 1U);
}

// The client of another host gives its questions the same numbers, and a subnet administrator may be here.
TEST_F(SaClientTest, AQuestionIsNoAnswer) {
  ask();
  EXPECT_FALSE(client_.receive(sent_[0]));
  EXPECT_TRUE(errors_.empty());
}

TEST_F(SaClientTest, AnAdministratorAtThisPortAnswersAtOnce) {
  answers_at_once_ = true;
  EXPECT_FALSE(client_.waits(ask()));
  EXPECT_EQ(errors_, std::vector{0});
  EXPECT_EQ(client_.deadline(), kNever);
}

TEST_F(SaClientTest, AsksAgainUntilItsPatienceEnds) {
  ask();
  for (TimePoint now = client_.deadline(); now != kNever; now = client_.deadline()) client_.advance(now);
  EXPECT_EQ(sent_.size(), SaClient::kPatience / SaClient::kTimeout);
  EXPECT_EQ(errors_, std::vector{ETIMEDOUT});
}

TEST_F(SaClientTest, AnAttemptMayBeAnsweredAtOnce) {
  ask();
  answers_at_once_ = true;
  client_.advance(kStart + SaClient::kTimeout);
  EXPECT_EQ(errors_, std::vector{0});
}

TEST_F(SaClientTest, TheDeadlineIsTheAskers) {
  ask(kStart + 700ms);
  EXPECT_EQ(client_.deadline(), kStart + SaClient::kTimeout);
  client_.advance(kStart + SaClient::kTimeout);
  EXPECT_EQ(client_.deadline(), kStart + 700ms);
  client_.advance(kStart + 699ms);
  EXPECT_TRUE(errors_.empty());
  client_.advance(kStart + 700ms);
  EXPECT_EQ(sent_.size(), 2U);
  EXPECT_EQ(errors_, std::vector{ETIMEDOUT});
}

TEST_F(SaClientTest, WhatIsTooMuchIsRefusedAtOnce) {
  for (std::size_t i = 0; i < SaClient::kMostQuestions; ++i) ask();
  EXPECT_TRUE(errors_.empty());
  EXPECT_FALSE(client_.waits(ask()));
  EXPECT_EQ(errors_, std::vector{ENOMEM});
  EXPECT_EQ(sent_.size(), SaClient::kMostQuestions);
}

}  // namespace
}  // namespace softrnic::fabricd
