// The kernel's connection manager as the judge of ours: every CM datagram of the captures decodes
// and encodes to the same bytes, and our manager, told to do what either side did, sends the same
// bytes in the same order.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "cm/manager.h"
#include "tests/golden/cm_capture.h"
#include "tests/support/cm_host.h"

namespace softrnic::cm {
namespace {

using softrnic::testing::CapturedMad;
using softrnic::testing::CmEvent;
using softrnic::testing::CmHost;

struct Capture {
  const char* name;
  std::size_t messages;
};
constexpr Capture kCaptures[] = {{"rxe-rping", 5},   {"rxe-rping-v6", 5},   {"rxe-cm-reject", 2},
                                 {"rxe-udaddy", 2},  {"host-to-rxe-cm", 2}, {"rxe-write-bw", 10},
                                 {"rxe-rsocket", 5}, {"rxe-fi-msg", 5}};

std::vector<CapturedMad> load(const char* name) {
  return testing::cm_mads_of(std::filesystem::path(SOFTRNIC_GOLDEN_DIR) / (std::string(name) + ".pcap"));
}

class GoldenCm : public ::testing::TestWithParam<Capture> {};

TEST_P(GoldenCm, DecodesAndEncodesToTheSameBytes) {
  const auto mads = load(GetParam().name);
  ASSERT_EQ(mads.size(), GetParam().messages);
  for (const CapturedMad& captured : mads) {
    const auto header = mad::parse_header(captured.mad);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->management_class, mad::ManagementClass::communication);
    EXPECT_EQ(header->class_version, kClassVersion);
    EXPECT_EQ(header->method, mad::Method::send);
    const Format* const format = find_format(header->attribute);
    ASSERT_NE(format, nullptr);
    mad::Mad again{};
    mad::encode_header(*header, again);
    format->recode(captured.mad, again);
    EXPECT_EQ(again, captured.mad) << print(captured.mad);
  }
}

/// One side of a capture, played by our manager: its messages are asked for and compared,
/// the others are delivered.
class Replay {
 public:
  Replay(std::vector<CapturedMad> mads, const wire::Gid& us) : mads_(std::move(mads)), us_(us) {
    for (const CapturedMad& captured : mads_) {
      if (captured.source != us_) continue;
      if (captured.message() == Message::req) guid_ = decode<Req>(captured.mad).ca_guid;
      if (captured.message() == Message::rep) guid_ = decode<Rep>(captured.mad).ca_guid;
    }
    manager_ = std::make_unique<Manager>(host_, guid_);
  }

  void run() {
    for (const CapturedMad& captured : mads_) {
      now_ += std::chrono::milliseconds(1);
      captured.source == us_ ? say(captured) : hear(captured);
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(host_.sent.empty());
    manager_->advance(now_ + std::chrono::seconds(100));
    EXPECT_EQ(manager_->deadline(), kNever);
  }

 private:
  void say(const CapturedMad& captured) {
    if (host_.sent.empty()) ask_for(captured);
    ASSERT_FALSE(host_.sent.empty()) << print(captured.mad);
    mad::Mad ours = host_.sent.front().mad;
    EXPECT_EQ(host_.sent.front().to.remote, captured.destination);
    host_.sent.erase(host_.sent.begin());
    // Transactions that this side begins are numbered as it likes, the rest of them follows.
    const Message message = captured.message();
    if (message == Message::req) transaction_ = load_be64(&ours[8]);
    EXPECT_TRUE(message != Message::rtu || load_be64(&ours[8]) == transaction_);
    if (message == Message::req || message == Message::rtu || message == Message::dreq ||
        message == Message::sidr_req) {
      std::memcpy(&ours[8], &captured.mad[8], 8);
    }
    EXPECT_EQ(ours, captured.mad) << print(ours) << "\n" << print(captured.mad);
  }

  void ask_for(const CapturedMad& captured) {
    switch (captured.message()) {
      case Message::req:
        return connect(captured.mad);
      case Message::sidr_req:
        return resolve(captured);
      case Message::rep:
        return accept(captured.mad);
      case Message::sidr_rep:
        return answer(captured.mad);
      case Message::rtu:
        return check(manager_->confirm(Id(decode<Rtu>(captured.mad).local_id),
                                       decode<Rtu>(captured.mad).private_data, now_));
      case Message::dreq:
        return check(manager_->disconnect(Id(decode<Dreq>(captured.mad).local_id),
                                          decode<Dreq>(captured.mad).private_data, now_));
      case Message::drep:
        return check(manager_->disconnect_reply(Id(decode<Drep>(captured.mad).local_id),
                                                decode<Drep>(captured.mad).private_data, now_));
      default:
        FAIL() << "not sent: " << print(captured.mad);
    }
  }

  static void check(const Expected<void, Failure>& done) {
    ASSERT_TRUE(done.has_value()) << describe(done.error().reason);
  }

  void connect(Bytes mad) {
    const Req req = decode<Req>(mad);
    Request request;
    request.service_id = req.service_id;
    request.path = {.local = req.primary.local_gid, .remote = req.primary.remote_gid};
    own_ = req.primary.local_gid;
    request.path.pkey = req.pkey;
    request.path.mtu = req.mtu;
    request.path.rate = req.primary.rate;
    request.path.flow_label = req.primary.flow_label;
    request.path.traffic_class = req.primary.traffic_class;
    request.path.hop_limit = req.primary.hop_limit;
    request.path.ack_timeout = req.primary.ack_timeout;
    request.endpoint.qpn = req.qpn;
    request.endpoint.qkey = req.qkey;
    request.endpoint.starting_psn = req.starting_psn;
    request.endpoint.responder_resources = req.responder_resources;
    request.endpoint.initiator_depth = req.initiator_depth;
    request.endpoint.rnr_retry_count = req.rnr_retry_count;
    request.endpoint.flow_control = req.flow_control;
    request.endpoint.srq = req.srq;
    request.retry_count = req.retry_count;
    request.max_cm_retries = req.max_cm_retries;
    request.local_response_timeout = req.local_response_timeout;
    request.remote_response_timeout = req.remote_response_timeout;
    request.private_data = req.private_data;
    host_.numbers = {req.local_id};
    ASSERT_TRUE(manager_->connect(request, now_).has_value());
  }

  void accept(Bytes mad) {
    const Rep rep = decode<Rep>(mad);
    Reply reply;
    reply.endpoint.qpn = rep.qpn;
    reply.endpoint.qkey = rep.qkey;
    reply.endpoint.starting_psn = rep.starting_psn;
    reply.endpoint.responder_resources = rep.responder_resources;
    reply.endpoint.initiator_depth = rep.initiator_depth;
    reply.endpoint.rnr_retry_count = rep.rnr_retry_count;
    reply.endpoint.flow_control = rep.flow_control;
    reply.endpoint.srq = rep.srq;
    reply.target_ack_delay = rep.target_ack_delay;
    reply.private_data = rep.private_data;
    check(manager_->reply(Id(rep.local_id), reply, now_));
  }

  void resolve(const CapturedMad& captured) {
    const SidrReq req = decode<SidrReq>(captured.mad);
    SidrRequest request;
    request.service_id = req.service_id;
    request.path = {.local = captured.source, .remote = captured.destination};
    request.path.pkey = req.pkey;
    request.private_data = req.private_data;
    host_.numbers = {req.request_id};
    ASSERT_TRUE(manager_->request_service_id(request, now_).has_value());
  }

  void answer(Bytes mad) {
    const SidrRep rep = decode<SidrRep>(mad);
    ASSERT_FALSE(host_.events.empty());
    SidrReply reply;
    reply.status = rep.status;
    reply.qpn = rep.qpn;
    reply.qkey = rep.qkey;
    reply.additional_info = Bytes(rep.additional_info).first(rep.info_length);
    reply.private_data = rep.private_data;
    check(manager_->answer(host_.events.back().id, reply, now_));
  }

  // Listens for what the capture shows to be accepted, and hands out the IDs that it shows.
  void hear(const CapturedMad& captured) {
    if (captured.message() == Message::req) prepare(decode<Req>(captured.mad));
    if (captured.message() == Message::sidr_req) {
      (void)manager_->listen(decode<SidrReq>(captured.mad).service_id);
    }
    mad::Address from;
    from.local = own_.is_zero() ? captured.destination : own_;
    from.remote = captured.source;
    const std::size_t told = host_.events.size();
    manager_->receive(from, captured.mad, now_);
    const bool refused = captured.message() == Message::req && !host_.sent.empty();
    EXPECT_EQ(host_.events.size(), told + (refused ? 0 : 1)) << print(captured.mad);
  }

  void prepare(const Req& req) {
    for (const CapturedMad& later : mads_) {
      if (later.message() != Message::rep) continue;
      const Rep rep = decode<Rep>(later.mad);
      if (rep.remote_id != req.local_id) continue;
      (void)manager_->listen(req.service_id);
      host_.numbers = {rep.local_id};
    }
  }

  std::vector<CapturedMad> mads_;
  wire::Gid us_;
  wire::Gid
      /// of the path that a REQ of ours names: the host of host_to_rxe_cm sent it from another address
      own_;
  std::uint64_t guid_ = 0;
  CmHost host_;
  std::unique_ptr<Manager> manager_;
  TimePoint now_{};
  std::uint64_t transaction_ = 0;
};

TEST_P(GoldenCm, ActiveSideSendsTheSame) {
  auto mads = load(GetParam().name);
  ASSERT_FALSE(mads.empty());
  const wire::Gid active = mads.front().source;
  Replay(std::move(mads), active).run();
}

TEST_P(GoldenCm, PassiveSideSendsTheSame) {
  auto mads = load(GetParam().name);
  ASSERT_FALSE(mads.empty());
  const wire::Gid passive = mads.front().destination;
  Replay(std::move(mads), passive).run();
}

INSTANTIATE_TEST_SUITE_P(Captures, GoldenCm, ::testing::ValuesIn(kCaptures), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace softrnic::cm
