// Programs with open ports of one daemon: what they are told, who gets what, and what they may not do.
#include "daemon/mad_service.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <deque>

#include "base/reason_id.h"
#include "control/mad_client.h"
#include "mad/class_rules.h"

namespace softrnic::daemon {
namespace {

using namespace control;
using namespace std::chrono_literals;

constexpr mad::ManagementClass kPerformance = mad::ManagementClass::performance;

mad::Mad make_mad(mad::ManagementClass management_class, mad::Method method, std::uint64_t transaction) {
  mad::Mad out{};
  mad::Header header;
  header.management_class = management_class;
  header.class_version = 1;
  header.method = method;
  header.transaction = transaction;
  mad::encode_header(header, out);
  return out;
}

/// A switch with port 0, and a CA of one port on Ethernet.
class FakePorts final : public MadPorts {
 public:
  struct Sent {
    MadPortName port;
    mad::Queue queue;
    mad::Peer to;
    mad::Mad mad;
  };

  std::vector<MadCa> cas() const override { return list; }
  Expected<mad::Peer, Failure> complete(const MadPortName&, const mad::Peer& to) const override {
    if (to.lid == 0) return Unexpected{refuse(EINVAL, ReasonId::mad_no_way)};
    return to;
  }
  void send(const MadPortName& port, mad::Queue queue, const mad::Peer& to, Bytes mad) override {
    Sent& out = sent.emplace_back(Sent{port, queue, to, {}});
    std::copy(mad.begin(), mad.end(), out.mad.begin());
  }
  void set_is_sm(const MadPortName& port, bool is_sm) override { managers.push_back({port, is_sm}); }

  std::vector<MadCa> list;
  std::deque<Sent> sent;
  std::vector<std::pair<MadPortName, bool>> managers;
};

class MadServiceTest : public ::testing::Test {
 protected:
  struct Program {
    Connection connection;
    UniqueFd socket;
    MadPortNumber port = 0;
  };

  void SetUp() override {
    MadCa sw;
    sw.name = "switch0";
    sw.ports.emplace_back().number = 0;
    MadCa ethernet;
    ethernet.name = "soft0";
    ethernet.ports.emplace_back().link_layer = IBV_LINK_LAYER_ETHERNET;
    ports.list = {sw, ethernet};
    service.now = [this] { return now; };
    for (Program* program : {&first, &second}) {
      program->connection.greeted = true;
      program->connection.credentials = Credentials::own();
    }
  }

  template <typename Request>
  Answer answer(Program& program, const Request& request, int fd = -1) {
    UniqueFd along(fd);
    auto answered = service.handle(program.connection, bytes_of(request), along);
    EXPECT_TRUE(answered);
    return answered ? std::move(*answered) : Answer{};
  }
  template <typename Reply, typename Request>
  Reply ask(Program& program, const Request& request, int fd = -1) {
    const Answer answered = answer(program, request, fd);
    const auto reply = parse_message<Reply>(answered.bytes);
    EXPECT_TRUE(reply) << "answered with type " << static_cast<int>(peek_header(answered.bytes)->type);
    return reply.value_or(Reply{});
  }
  /// 0, or the errno of a refusal.
  template <typename Request>
  int error_of(Program& program, const Request& request, int fd = -1) {
    const auto refused = parse_message<ErrorReply>(answer(program, request, fd).bytes);
    return refused ? refused->error : 0;
  }
  MadOpenPort opening(const char* ca, std::uint32_t port) {
    auto message = make_message<MadOpenPort>();
    put_text(message.ca, ca);
    message.port = port;
    return message;
  }
  void open(Program& program, const char* ca = "soft0", std::uint32_t port = 1) {
    Answer answered = answer(program, opening(ca, port));
    const auto reply = parse_message<MadPortReply>(answered.bytes);
    ASSERT_TRUE(reply);
    program.port = reply->port;
    program.socket = std::move(answered.own_fd);
  }
  MadRegisterAgent registering(const Program& program, mad::ManagementClass management_class,
                               mad::Method method) {
    auto message = make_message<MadRegisterAgent>();
    message.port = program.port;
    message.queue = mad::is_subnet_management(management_class) ? 0 : 1;
    message.management_class = static_cast<std::uint8_t>(management_class);
    message.class_version = 1;
    message.methods[0] = std::uint64_t{1} << static_cast<unsigned>(method);
    return message;
  }
  std::uint32_t add_agent(Program& program, mad::Method method = mad::Method::get) {
    return ask<MadAgentReply>(program, registering(program, kPerformance, method)).agent;
  }
  MadSend sending(const Program& program, std::uint32_t agent, Bytes message) {
    auto request = make_message<MadSend>();
    request.port = program.port;
    request.agent = agent;
    request.timeout_ms = 100;
    request.to.lid = 7;
    static_cast<void>(put_message(request.body, message));
    return request;
  }
  void receive(const mad::Mad& mad) { service.receive({"soft0", 1}, mad::Queue::gsi, {.lid = 9}, mad); }
  /// What the program finds in its socket; agent 99: nothing.
  MadReceived take(Program& program) {
    MadReceived got;
    std::vector<std::byte> message;
    if (read_mad(program.socket.get(), got, message) != 0) got.agent = 99;
    return got;
  }

  FakePorts ports;
  MadService service{ports};
  TimePoint now{};
  Program first, second;
};

TEST_F(MadServiceTest, TellsOfDevices) {
  const auto list = ask<MadCasReply>(first, make_message<MadListCas>());
  ASSERT_EQ(list.count, 2U);
  EXPECT_EQ(text_in(list.names[1]), "soft0");
  auto query = make_message<MadQueryCa>();
  put_text(query.ca, "soft0");
  const auto ca = from_record(ask<MadCaReply>(first, query).ca);
  ASSERT_TRUE(ca);
  EXPECT_FALSE(ca->port(1)->has_qp0());
  put_text(query.ca, "soft1");
  EXPECT_EQ(error_of(first, query), ENODEV);
  std::fill(std::begin(query.ca), std::end(query.ca), 'x');
  EXPECT_EQ(error_of(first, query), ENODEV);
}

TEST_F(MadServiceTest, OnlyPortsThatAreThereAreOpened) {
  EXPECT_EQ(error_of(first, opening("soft0", 1)), 0);
  EXPECT_EQ(error_of(first, opening("soft0", 2)), EINVAL);
  EXPECT_EQ(error_of(first, opening("soft0", 0)), EINVAL);
  EXPECT_EQ(error_of(first, opening("soft1", 1)), ENODEV);
  EXPECT_EQ(error_of(first, opening("switch0", 0)), 0);
}

TEST_F(MadServiceTest, OtherUsersMayOnlyLook) {
  first.connection.credentials = Credentials();
  EXPECT_EQ(error_of(first, opening("soft0", 1)), EACCES);
  EXPECT_EQ(ask<MadCasReply>(first, make_message<MadListCas>()).count, 2U);
}

TEST_F(MadServiceTest, AnOpenPortIsItsOwners) {
  open(first);
  const auto agent = add_agent(first);
  second.port = first.port;
  EXPECT_EQ(error_of(second, registering(second, kPerformance, mad::Method::set)), EBADF);
  EXPECT_EQ(error_of(second, sending(second, agent, make_mad(kPerformance, mad::Method::get, 1))), EBADF);
  auto close = make_message<MadClosePort>();
  close.port = first.port;
  EXPECT_EQ(error_of(second, close), EBADF);
  EXPECT_EQ(error_of(first, close), 0);
  EXPECT_EQ(error_of(first, close), EBADF);
}

TEST_F(MadServiceTest, ARequestAndItsResponse) {
  open(first);
  open(second);
  const auto client = add_agent(first, mad::Method::set);
  const auto server = add_agent(second);
  ASSERT_EQ(error_of(first, sending(first, client, make_mad(kPerformance, mad::Method::get, 0xab))), 0);
  ASSERT_EQ(ports.sent.size(), 1U);
  EXPECT_EQ(ports.sent[0].queue, mad::Queue::gsi);
  EXPECT_EQ(ports.sent[0].to.lid, 7);
  mad::Mad mad = ports.sent[0].mad;
  receive(mad);
  MadReceived got = take(second);
  EXPECT_EQ(got.agent, server);
  EXPECT_EQ(got.from.lid, 9);
  EXPECT_EQ(got.body.length, 256U);
  mad[3] = std::byte{0x81};
  receive(mad);
  got = take(first);
  EXPECT_EQ(got.agent, client);
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(take(first).agent, 99U);
  EXPECT_EQ(service.deadline(), kNever);
}

TEST_F(MadServiceTest, ARequestThatNobodyAnswersComesBack) {
  open(first);
  const auto agent = add_agent(first);
  ASSERT_EQ(error_of(first, sending(first, agent, make_mad(kPerformance, mad::Method::get, 1))), 0);
  EXPECT_EQ(service.deadline(), now + 100ms);
  now += 100ms;
  service.advance();
  const MadReceived got = take(first);
  EXPECT_EQ(got.agent, agent);
  EXPECT_EQ(got.status, ETIMEDOUT);
  EXPECT_EQ(got.timeout_ms, 100U);
  EXPECT_EQ(got.from.lid, 7);
  EXPECT_EQ(got.body.length, mad::kHeaderBytes);
}

TEST_F(MadServiceTest, WhatNobodyTakesIsAnsweredAsLinuxDoes) {
  receive(make_mad(kPerformance, mad::Method::get, 5));
  ASSERT_EQ(ports.sent.size(), 1U);
  EXPECT_EQ(ports.sent[0].to.lid, 9);
  EXPECT_EQ(mad::parse_header(ports.sent[0].mad)->status, 0x000c);
  open(first);
  add_agent(first);
  receive(make_mad(kPerformance, mad::Method::get, 5));
  EXPECT_EQ(ports.sent.size(), 1U);
}

TEST_F(MadServiceTest, RefusalsHaveTheErrnoOfLinux) {
  open(first);
  EXPECT_EQ(error_of(first, registering(first, mad::ManagementClass::subnet_lid_routed, mad::Method::get)),
            EPROTONOSUPPORT);
  const auto agent = add_agent(first);
  EXPECT_EQ(error_of(first, registering(first, kPerformance, mad::Method::get)), EINVAL);
  const auto mad = make_mad(kPerformance, mad::Method::get, 1);
  EXPECT_EQ(error_of(first, sending(first, agent + 1, mad)), EIO);
  auto request = sending(first, agent, mad);
  request.to.lid = 0;
  EXPECT_EQ(error_of(first, request), EINVAL);
  request = sending(first, agent, mad);
  request.body.length = 1000;
  EXPECT_EQ(error_of(first, request), EINVAL) << "no memfd came along";
  auto registration = registering(first, kPerformance, mad::Method::set);
  registration.queue = 7;
  EXPECT_EQ(error_of(first, registration), EINVAL);
  auto unregister = make_message<MadUnregisterAgent>();
  unregister.port = first.port;
  unregister.agent = 31;
  EXPECT_EQ(error_of(first, unregister), EINVAL);
  unregister.agent = agent;
  EXPECT_EQ(error_of(first, unregister), 0);
}

TEST_F(MadServiceTest, APortWithQp0TakesSubnetManagement) {
  open(first, "switch0", 0);
  EXPECT_EQ(error_of(first, registering(first, mad::ManagementClass::subnet_lid_routed, mad::Method::trap)),
            0);
  service.receive({"switch0", 0}, mad::Queue::smi, {.lid = 3},
                  make_mad(mad::ManagementClass::subnet_lid_routed, mad::Method::trap, 1));
  EXPECT_EQ(take(first).from.lid, 3);
}

TEST_F(MadServiceTest, ASocketThatIsFullIsFilledAgain) {
  open(first);
  add_agent(first);
  constexpr std::uint64_t kMany = 3000;
  for (std::uint64_t i = 0; i < kMany; ++i) receive(make_mad(kPerformance, mad::Method::get, i));
  std::uint64_t next = 0;
  while (next < kMany) {
    const MadReceived got = take(first);
    if (got.agent == 99) {
      pollfd ready{service.sockets_fd(), POLLIN, 0};
      ASSERT_EQ(poll(&ready, 1, 1000), 1) << "after " << next;
      service.sockets_ready();
      continue;
    }
    ASSERT_EQ(mad::parse_header(got.body.bytes)->transaction, next++);
  }
  pollfd quiet{service.sockets_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&quiet, 1, 0), 0);
}

TEST_F(MadServiceTest, TheEndOfTheSocketClosesThePort) {
  open(first);
  add_agent(first);
  first.socket.reset();
  pollfd ready{service.sockets_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 1000), 1);
  receive(make_mad(kPerformance, mad::Method::get, 1));  // before it is noticed
  service.sockets_ready();
  EXPECT_EQ(service.open_ports(), 0U);
  open(second);
  EXPECT_EQ(add_agent(second), 0U) << "its methods are free";
}

TEST_F(MadServiceTest, TheEndOfTheClientClosesItsPorts) {
  open(first);
  open(first);
  open(second);
  EXPECT_EQ(service.open_ports(), 3U);
  service.release(first.connection);
  EXPECT_EQ(service.open_ports(), 1U);
  MadReceived got;
  EXPECT_EQ(peek_mad(first.socket.get(), got), EIO);
}

TEST_F(MadServiceTest, APortThatIsGoneIsDead) {
  open(first);
  open(second, "switch0", 0);
  ports.list.pop_back();
  service.ports_changed();
  EXPECT_EQ(service.open_ports(), 1U);
  MadReceived got;
  EXPECT_EQ(peek_mad(first.socket.get(), got), EIO);
  EXPECT_EQ(peek_mad(second.socket.get(), got), EAGAIN);
}

TEST_F(MadServiceTest, OpenPortsAreCounted) {
  for (std::size_t i = 0; i < MadService::kMostOpenPorts; ++i) {
    const Answer answered = answer(first, opening("soft0", 1));
    if (!parse_message<MadPortReply>(answered.bytes)) GTEST_SKIP() << "this process may not have so many";
  }
  EXPECT_EQ(error_of(first, opening("soft0", 1)), EMFILE);
}

TEST_F(MadServiceTest, AnOpenIssmFileMakesThePortASubnetManagers) {
  auto query = make_message<MadIssmPath>();
  put_text(query.ca, "switch0");
  const auto reply = ask<MadPathReply>(first, query);
  const std::string path(text_in(reply.path).value_or(""));
  const auto settle = [&](std::size_t changes, int rounds = 200) {
    for (int i = 0; i < rounds && ports.managers.size() < changes; ++i) {
      pollfd ready{service.sockets_fd(), POLLIN, 0};
      if (poll(&ready, 1, 10) == 1) service.sockets_ready();
      now += 10ms;
      service.advance();
    }
  };
  UniqueFd one(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(one) << path;
  settle(1);
  UniqueFd two(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  one.reset();
  settle(2, 20);  // nothing changes
  ASSERT_EQ(ports.managers.size(), 1U);
  EXPECT_EQ(ports.managers[0], (std::pair{MadPortName{"switch0", 0}, true}));
  two.reset();
  settle(2);
  ASSERT_EQ(ports.managers.size(), 2U);
  EXPECT_FALSE(ports.managers[1].second);
  put_text(query.ca, "soft0");
  query.port = 1;
  const auto none = ask<MadPathReply>(first, query);
  EXPECT_NE(access(std::string(text_in(none.path).value_or("")).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace softrnic::daemon
