#include "fabricd/sa_client.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "mad/component_mask.h"
#include "mad/sa_path_records.h"

namespace softrnic::fabricd {
namespace {

using namespace std::chrono_literals;
using mad::PathRecord;

class SaClientTest : public testing::Test {
 protected:
  SaClientTest() {
    client_.send = [this](std::uint8_t, const mad::Mad& mad) { sent_.push_back(mad); };
  }
  SaClient::Token ask(TimePoint now = TimePoint{}) {
    PathRecord record;
    record.num_paths = 1;
    return client_.ask(1, mad::Method::get, record, mad::component<PathRecord>("num_paths"), now,
                       [this](const std::optional<mad::Mad>& answer) { answers_.push_back(answer); });
  }
  static mad::Mad response_to(mad::Mad mad) {
    auto header = *mad::parse_header(mad);
    header.method = mad::Method::get_response;
    mad::encode_header(header, mad);
    return mad;
  }

  SaClient client_;
  std::vector<mad::Mad> sent_;
  std::vector<std::optional<mad::Mad>> answers_;
};

TEST_F(SaClientTest, AResponseEndsItsQuestion) {
  const auto token = ask();
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_TRUE(client_.waits(token));
  EXPECT_TRUE(client_.receive(response_to(sent_[0])));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0]);
  EXPECT_FALSE(client_.waits(token));
  EXPECT_TRUE(client_.receive(response_to(sent_[0]))) << "a late one is for nobody else";
  EXPECT_EQ(answers_.size(), 1U);
}

// The client of another host gives its questions the same numbers, and a subnet administrator may be here.
TEST_F(SaClientTest, AQuestionIsNoAnswer) {
  ask();
  EXPECT_FALSE(client_.receive(sent_[0]));
  EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace softrnic::fabricd
