// Messages of agents that are longer than a datagram.
#include <gtest/gtest.h>

#include <cerrno>

#include "base/reason_id.h"
#include "mad/agents.h"
#include "tests/unit/mad/agents_fixture.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

// ---- RMPP

class LongMessageTest : public AgentsTest {
 protected:
  static constexpr std::size_t kSaHeaders = 56;

  void SetUp() override {
    Registration serves = takes(kSa, {Method::get_table}, 2);
    serves.rmpp_version = 1;
    server = add(first, serves);
    Registration asks = takes(kSa, {}, 2);
    asks.rmpp_version = 1;
    client = add(second, asks);
  }
  /// As a program hands it in: all headers once, RMPP's Active, then data.
  static std::vector<std::byte> long_message(Method method, std::uint64_t transaction, std::size_t data) {
    const Mad head = make_mad(kSa, method, transaction, 2);
    std::vector<std::byte> message(head.begin(), head.begin() + kSaHeaders);
    for (std::size_t i = 0; i < data; ++i) message.push_back(static_cast<std::byte>(i * 31 + 1));
    encode_rmpp({.type = RmppType::data, .active = true}, message);
    return message;
  }
  /// Sends GetTable, and returns what its transaction is at the server.
  std::uint64_t ask(std::uint32_t timeout_ms = 1000) {
    EXPECT_EQ(send(second, client, make_mad(kSa, Method::get_table, 1, 2), timeout_ms), 0);
    carry();
    return header_of(take(first).message).transaction;
  }
  /// Brings what was sent to the port, which is its own peer, until nothing is under way.
  void carry() {
    for (; !sent.empty(); sent.pop_front()) {
      const Sent each = sent.front();
      agents.receive(each.queue, peer, each.mad, now);
      ++carried;
    }
  }
  static std::vector<std::byte> data_of(const Received& received) {
    return {received.message.begin() + kSaHeaders, received.message.end()};
  }

  std::uint32_t server = 0, client = 0;
  std::size_t carried = 0;
};

TEST_F(LongMessageTest, AResponseOfManySegmentsIsOneMessage) {
  for (const std::size_t bytes : {1, 200, 201, 2000, 1 << 20}) {
    const auto response = long_message(Method::get_table_response, ask(), bytes);
    carried = 0;
    ASSERT_EQ(send(first, server, response), 0);
    carry();
    EXPECT_GE(carried, bytes / 200) << bytes;
    const Received got = take(second);
    EXPECT_EQ(got.agent, client);
    EXPECT_EQ(got.message.size(), response.size());
    EXPECT_EQ(data_of(got), (std::vector<std::byte>{response.begin() + kSaHeaders, response.end()}));
    EXPECT_EQ(agents.front(first), nullptr);
  }
}

// As OpenSM's vendor layer does; the type is the transfer's to write (Linux, mad_rmpp.c: ib_send_rmpp_mad).
TEST_F(LongMessageTest, TheSenderNeedNotNameTheType) {
  auto response = long_message(Method::get_table_response, ask(), 1000);
  encode_rmpp({.type = RmppType::none, .active = true}, response);
  ASSERT_EQ(send(first, server, response), 0);
  carry();
  EXPECT_EQ(data_of(take(second)), (std::vector<std::byte>{response.begin() + kSaHeaders, response.end()}));
}

TEST_F(LongMessageTest, ALongRequestWaitsForItsResponseOnceItHasCome) {
  const auto request = long_message(Method::get_table, 5, 3000);
  ASSERT_EQ(send(second, client, request, 1000, 3), 0);
  carry();
  const Received at_server = take(first);
  EXPECT_EQ(at_server.message.size(), request.size());
  Mad response{};
  std::copy_n(at_server.message.begin(), kSaHeaders, response.begin());
  response[3] = std::byte{0x92};
  response[26] = std::byte{};
  ASSERT_EQ(send(first, server, response), 0);
  carry();
  EXPECT_EQ(take(second).message.size(), kMadBytes);
  now += 1h;
  agents.advance(now);
  EXPECT_EQ(agents.front(second), nullptr);
  EXPECT_EQ(agents.deadline(), kNever);
}

TEST_F(LongMessageTest, WhatIsLostOnTheWayIsSentAgain) {
  const auto response = long_message(Method::get_table_response, ask(60'000), 5000);
  ASSERT_EQ(send(first, server, response, 0, 5), 0);
  std::size_t lost = 0;
  for (int round = 0; round < 50 && agents.front(second) == nullptr; ++round) {
    for (; !sent.empty(); sent.pop_front()) {
      const Sent each = sent.front();
      if (lost < 12 && ++lost % 3 == 0) continue;
      agents.receive(each.queue, peer, each.mad, now);
    }
    now = agents.deadline();
    agents.advance(now);
  }
  EXPECT_EQ(take(second).message.size(), response.size());
}

TEST_F(LongMessageTest, AMessageThatNobodyAcknowledgesComesBack) {
  const auto response = long_message(Method::get_table_response, ask(), 5000);
  ASSERT_EQ(send(first, server, response, 0, 1), 0);
  EXPECT_EQ(send(first, server, response, 0, 1), EINVAL) << "a twin";
  for (int i = 0; i < 2; ++i) {
    sent.clear();
    now += 2s;
    agents.advance(now);
  }
  const Received back = take(first);
  EXPECT_TRUE(back.timed_out);
  EXPECT_EQ(back.message.size(), kHeaderBytes);
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), ReasonId::rmpp_failed), 1);
}

TEST_F(LongMessageTest, SegmentsThatNobodyWaitsForBeginNothing) {
  Mad segment{};
  const auto message = long_message(Method::get_table_response, std::uint64_t{client} << 32, 200);
  std::copy_n(message.begin(), message.size(), segment.begin());
  encode_rmpp({.type = RmppType::data, .first = true, .active = true, .segment_number = 1}, segment);
  Mad request = segment;
  ASSERT_EQ(send(second, client, make_mad(kSa, Method::get_table, 1, 2)), 0);
  store_be64(&segment[8], header_of(sent.back().mad).transaction);
  sent.clear();
  EXPECT_EQ(receive(segment), Agents::Receipt::dropped) << "its request has no timeout";
  EXPECT_TRUE(sent.empty());
  request[3] = std::byte{0x12};
  EXPECT_EQ(receive(request), Agents::Receipt::taken) << "a request may come unasked";
}

TEST_F(LongMessageTest, TransfersEndWithTheirAgent) {
  const auto response = long_message(Method::get_table_response, ask(), 5000);
  ASSERT_EQ(send(first, server, response), 0);
  const Sent segment = sent.front();
  agents.receive(segment.queue, peer, segment.mad, now);
  agents.close(first);
  agents.close(second);
  EXPECT_EQ(agents.deadline(), kNever);
}

TEST_F(LongMessageTest, HasABound) {
  const auto transaction = ask();
  EXPECT_EQ(send(first, server, long_message(Method::get_table_response, transaction, Agents::kMostBytes)),
            EINVAL);
  EXPECT_EQ(send(first, server, Bytes(long_message(Method::get_table_response, transaction, 0)).first(35)),
            EINVAL);
}

}  // namespace
}  // namespace softrnic::mad
