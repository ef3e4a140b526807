// Two fabric processes in one: who listens and who joins, by TCP on loopback.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>

#include "base/clock.h"
#include "fabric/joined_topology.h"
#include "fabric/topology_shapes.h"
#include "fabricd/emulated_fabric.h"
#include "fabricd/join_listener.h"
#include "fabricd/joiner.h"

namespace softrnic::fabricd {
namespace {

using namespace std::chrono_literals;

constexpr const char* kToken = "a token of theirs";

std::uint16_t free_port() {
  const UniqueFd probe = std::move(*listen_at("127.0.0.1", 0));
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::unique_ptr<EmulatedFabric> make_fabric(daemon::EventLoop& loop, std::uint8_t index, std::size_t spare,
                                            std::string_view shape = "star:2") {
  fabric::Topology topology = *fabric::with_spare_ports(*fabric::make_topology(shape), spare);
  if (index != 0) topology = *fabric::as_joined(topology, index);
  FabricOptions options;
  options.has_manager = false;
  options.index = index;
  options.spare_ports = fabric::free_switch_ports(topology, spare);
  return std::move(*EmulatedFabric::make(loop, std::move(topology), std::move(options)));
}

class JoinTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(loop_.open(), 0);
    loop_.woken = [this] { keep_time(); };
    first_ = make_fabric(loop_, 0, 2);
    port_ = free_port();
    auto opened = JoinListener::open(loop_, first_->cables(), "127.0.0.1", port_, kToken);
    ASSERT_TRUE(opened) << opened.error();
    listener_ = std::move(*opened);
    address_ = resolve("127.0.0.1", port_)->front();
  }
  void keep_time() {
    first_->keep_time(monotonic_now());
    if (second_) second_->keep_time(monotonic_now());
  }
  void turn() {
    ASSERT_EQ(loop_.wait(monotonic_now() + 1ms), 0);
    const TimePoint now = monotonic_now();
    listener_->advance(now);
    first_->advance(now);
    if (second_) second_->advance(now);
  }
  template <typename Condition>
  bool until(Condition condition) {
    const TimePoint end = monotonic_now() + 10s;
    bool holds = condition();
    for (; !holds && monotonic_now() < end; holds = condition()) turn();
    return holds;
  }
  JoinAttempt::State greet(JoinAttempt& attempt) {
    until([&] {
      pollfd waited{attempt.is_over() ? -1 : attempt.fd(),
                    static_cast<short>(attempt.state() == JoinAttempt::State::connecting ? POLLOUT : POLLIN),
                    0};
      if (poll(&waited, 1, 0) > 0) attempt.advance();
      return attempt.is_over();
    });
    return attempt.state();
  }
  void join(std::string_view shape = "star:2") {
    JoinAttempt attempt(address_, kToken, 0);
    ASSERT_EQ(greet(attempt), JoinAttempt::State::welcome) << attempt.why();
    second_ = make_fabric(loop_, attempt.index(), 1, shape);
    second_->cables().all()[0]->connect(attempt.take_stream(), "first", monotonic_now());
    ASSERT_TRUE(until([&] { return near().is_up() && far().is_up(); }));
  }
  UniqueFd connect() { return std::move(*begin_to_connect(address_)); }
  FabricCable& near() { return *first_->cables().all()[0]; }
  FabricCable& far() { return *second_->cables().all()[0]; }
  /// Nothing more comes.
  bool is_ended(const UniqueFd& socket) {
    return until([&] {
      std::array<char, 256> bytes;
      return recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) == 0 || errno == ECONNRESET;
    });
  }

  daemon::EventLoop loop_;
  std::unique_ptr<EmulatedFabric> first_, second_;
  std::unique_ptr<JoinListener> listener_;
  std::uint16_t port_ = 0;
  TcpAddress address_;
};

TEST_F(JoinTest, TheCableComesUpAndTellsAddresses) {
  join();
  EXPECT_TRUE(until([&] { return first_->cables().owner_of(ipoib_address(1, 1, 1)).has_value(); }));
  EXPECT_TRUE(until([&] { return second_->cables().owner_of(ipoib_address(0, 2, 1)).has_value(); }));
  EXPECT_FALSE(first_->cables().owner_of(ipoib_address(0, 1, 1))) << "its own";
}

TEST_F(JoinTest, TheLinkTrainsToWhatBothPortsHave) {
  join("star:2,width=1x,speed=QDR");
  for (EmulatedFabric* const fabric : {first_.get(), second_.get()}) {
    const fabric::Engine& engine = fabric->engine();
    const fabric::EnginePort* const end = engine.port(fabric->cables().all()[0]->remote())->peer;
    const mad::PortInfo& info = fabric->agents().port(end->id)->info;
    EXPECT_EQ(info.link_width_active, mad::LinkWidth::x1);
    EXPECT_EQ(info.link_speed_active, mad::LinkSpeed::qdr);
    EXPECT_EQ(info.link_speed_ext_active, mad::LinkSpeedExt::none);
  }
}

TEST_F(JoinTest, ACableThatIsPulledAtEitherEndIsDownAtBoth) {
  join();
  for (EmulatedFabric* const fabric : {first_.get(), second_.get()}) {
    const std::size_t cable =
        *fabric->cable_at({*fabric->topology().find(fabric == first_.get() ? "switch1" : "b-switch1"), 3});
    ASSERT_TRUE(fabric->set_connected(cable, false));
    EXPECT_TRUE(until([&] { return !near().is_up() && !far().is_up(); }));
    ASSERT_TRUE(fabric->set_connected(cable, true));
    EXPECT_TRUE(until([&] { return near().is_up() && far().is_up(); }));
  }
}

TEST_F(JoinTest, AWrongTokenIsRefusedWithASentence) {
  JoinAttempt attempt(address_, "a token of others", 0);
  EXPECT_EQ(greet(attempt), JoinAttempt::State::failed);
  EXPECT_EQ(attempt.why(), "the token is not the one of this fabric");
  EXPECT_FALSE(near().is_connected());
}

TEST_F(JoinTest, WhoListensProvesTheToken) {
  // One that takes any hello.
  const UniqueFd listener = std::move(*listen_at("127.0.0.1", 0));
  sockaddr_in name{};
  socklen_t size = sizeof name;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size);
  JoinAttempt attempt(resolve("127.0.0.1", ntohs(name.sin_port))->front(), kToken, 0);
  attempt.advance();
  UniqueFd accepted;
  ASSERT_TRUE(
      until([&] { return (accepted.reset(accept(listener.get(), nullptr, nullptr)), accepted.get() >= 0); }));
  MessageStream liar(std::move(accepted));
  liar.put(CableChallenge{});
  liar.put(CableWelcome{1, {}});
  ASSERT_TRUE(liar.flush());
  EXPECT_EQ(greet(attempt), JoinAttempt::State::failed);
  EXPECT_EQ(attempt.why(), "what listens there does not know the token");
}

TEST_F(JoinTest, EachHasAPlaceAndGetsItsOwnAgain) {
  JoinAttempt one(address_, kToken, 0), two(address_, kToken, 0), three(address_, kToken, 0);
  ASSERT_EQ(greet(one), JoinAttempt::State::welcome);
  ASSERT_EQ(greet(two), JoinAttempt::State::welcome);
  EXPECT_EQ(one.index(), 1);
  EXPECT_EQ(two.index(), 2);
  EXPECT_EQ(greet(three), JoinAttempt::State::failed);
  EXPECT_EQ(three.why(), "all spare ports have their cable");
  one.take_stream().reset();
  ASSERT_TRUE(until([&] { return !near().is_connected(); }));
  JoinAttempt second_again(address_, kToken, 2);
  EXPECT_EQ(greet(second_again), JoinAttempt::State::failed) << "it is there";
  JoinAttempt again(address_, kToken, 1);
  EXPECT_EQ(greet(again), JoinAttempt::State::welcome);
  EXPECT_EQ(again.index(), 1);
}

TEST_F(JoinTest, HostileConnectionsEndAndTheCableStays) {
  join();
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 40; ++i) {
    sockets.push_back(connect());
    turn();
    std::vector<char> garbage(static_cast<std::size_t>(i) * 97 + 3, static_cast<char>(i * 7 + 1));
    send(sockets.back().get(), garbage.data(), garbage.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  sockets.push_back(connect());  // says nothing
  for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(is_ended(sockets[i])) << i;
  EXPECT_TRUE(is_ended(sockets.back())) << "it had its time";
  EXPECT_TRUE(near().is_up() && far().is_up());
}

TEST_F(JoinTest, APeerThatSaysNonsenseLosesItsCable) {
  join();
  JoinAttempt hostile(address_, kToken, 0);
  ASSERT_EQ(greet(hostile), JoinAttempt::State::welcome);
  const FabricCable& cable = *first_->cables().all()[1];
  const auto stream = hostile.take_stream();
  stream->put(CableAddresses{
      true, {{ipoib_address(1, 1, 1), mad::Guid(66)}, {ipoib_address(2, 1, 1), mad::Guid(67)}}});
  ASSERT_TRUE(stream->flush());
  ASSERT_TRUE(until([&] { return first_->cables().owner_of(ipoib_address(2, 1, 1)).has_value(); }));
  EXPECT_NE(first_->cables().owner_of(ipoib_address(1, 1, 1)), mad::Guid(66)) << "that is another's";
  const std::array<std::byte, 4> nonsense{};
  stream->put(CablePacket{false, nonsense});
  ASSERT_TRUE(stream->flush());
  EXPECT_TRUE(until([&] { return !cable.is_connected(); }));
  EXPECT_TRUE(near().is_up());
}

TEST_F(JoinTest, APeerThatFallsSilentIsGivenUp) {
  JoinAttempt silent(address_, kToken, 0);
  ASSERT_EQ(greet(silent), JoinAttempt::State::welcome);
  ASSERT_TRUE(near().is_connected());
  EXPECT_TRUE(until([&] { return !near().is_connected(); }));
}

// Credits without end, and nothing read: memory has a bound.
TEST_F(JoinTest, APeerThatReadsNothingIsGivenUp) {
  JoinAttempt greedy(address_, kToken, 0);
  ASSERT_EQ(greet(greedy), JoinAttempt::State::welcome);
  FabricCable& cable = near();
  for (int i = 0; i < 2'000'000 && cable.is_connected(); ++i) {
    cable.carry(wire::FlowControlPacket{});
    if (i % 1000 == 0) cable.advance(monotonic_now());
  }
  EXPECT_FALSE(cable.is_connected());
}

}  // namespace
}  // namespace softrnic::fabricd
