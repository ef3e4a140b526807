#include "base/reason_id.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

class Sidr : public Pair {
 protected:
  SidrRequest question() {
    SidrRequest request;
    request.service_id = kService;
    request.path = path();
    request.max_cm_retries = 3;
    request.response_timeout = 18;
    request.private_data = data;
    return request;
  }
  std::array<std::byte, 216> data{std::byte{3}};
};

TEST_F(Sidr, AnswersTheQueuePair) {
  active = *a.manager.request_service_id(question(), now);
  EXPECT_EQ(deliver(a, b), Messages{Message::sidr_req});
  const auto asked = b.event();
  EXPECT_EQ(asked.kind, EventKind::service_id_request);
  EXPECT_EQ(asked.listener, listener);
  EXPECT_EQ(asked.path.remote, path().local);
  EXPECT_TRUE(std::ranges::equal(asked.private_data, data));
  const std::array<std::byte, 136> answer{std::byte{4}};
  const std::array<std::byte, 3> info{std::byte{5}};
  SidrReply reply;
  reply.qpn = Qpn(0x55);
  reply.qkey = 0x01234567;
  reply.ece = {0x123456, 7};
  reply.additional_info = info;
  reply.private_data = answer;
  ASSERT_TRUE(b.manager.answer(asked.id, reply, now));
  EXPECT_EQ(b.manager.answer(asked.id, reply, now).error().error, EINVAL);
  deliver(b, a);
  const auto told = a.event();
  EXPECT_EQ(told.kind, EventKind::service_id_reply);
  EXPECT_EQ(told.sidr.status, SidrStatus::valid);
  EXPECT_EQ(told.sidr.qpn, Qpn(0x55));
  EXPECT_EQ(told.sidr.qkey, 0x01234567U);
  EXPECT_EQ(told.sidr.ece, (Ece{0x123456, 7}));
  EXPECT_TRUE(std::ranges::equal(told.additional_info, info));
  EXPECT_TRUE(std::ranges::equal(told.private_data, answer));
  a.manager.destroy(active, now);
  b.manager.destroy(asked.id, now);
  expect_forgotten();
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(Sidr, ARepeatedQuestionGetsTheSameAnswer) {
  active = *a.manager.request_service_id(question(), now);
  const auto ask = a.host.take_sent().front();
  const auto again = [&] { b.manager.receive(turned_round(ask.to), ask.mad, now); };
  again();
  again();
  const Id asked = b.event().id;
  EXPECT_TRUE(b.host.sent.empty());
  ASSERT_TRUE(b.manager.answer(asked, {.qpn = Qpn(9)}, now));
  const auto answer = b.host.take_sent().front();
  b.manager.destroy(asked, now);
  again();
  EXPECT_EQ(b.host.take_sent().front().mad, answer.mad);
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(Sidr, NobodyListens) {
  b.manager.unlisten(listener);
  active = *a.manager.request_service_id(question(), now);
  deliver(a, b);
  EXPECT_EQ(deliver(b, a), Messages{Message::sidr_rep});
  const auto told = a.event();
  EXPECT_EQ(told.sidr.status, SidrStatus::unsupported);
  EXPECT_EQ(told.reason.id, ReasonId::cm_sidr_refused);
  EXPECT_EQ(b.manager.size(), 0U);
}

TEST_F(Sidr, DestroyingTheQuestionRefusesIt) {
  active = *a.manager.request_service_id(question(), now);
  deliver(a, b);
  b.manager.destroy(b.event().id, now);
  deliver(b, a);
  EXPECT_EQ(a.event().sidr.status, SidrStatus::rejected);
}

TEST_F(Sidr, TheQuestionIsRepeatedAndThenGivenUp) {
  active = *a.manager.request_service_id(question(), now);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(lose(a), Messages{Message::sidr_req});
    wait(a);
  }
  const auto told = a.event();
  EXPECT_EQ(told.kind, EventKind::service_id_timeout);
  EXPECT_EQ(told.reason.id, ReasonId::cm_sidr_timeout);
  EXPECT_EQ(told.reason.figures[1], 4U);
  EXPECT_EQ(a.manager.state(active), State::idle);
}

}  // namespace
}  // namespace softrnic::cm
