#include "fabricd/emulated_fabric.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "base/bytes.h"
#include "base/clock.h"
#include "fabric/topology_shapes.h"
#include "fabricd/emulated_host.h"
#include "link/fabric_message.h"
#include "wire/link_header.h"
#include "wire/vcrc.h"

namespace softrnic::fabricd {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFrameBytes = 4096;  ///< LRH to ICRC
constexpr std::size_t kFrames = 15;

class EmulatedFabricTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(loop_.open(), 0);
    loop_.woken = [this] { fabric_->keep_time(monotonic_now()); };
    fabric_ = std::move(*EmulatedFabric::make(loop_, *fabric::make_topology("star:2"), {}));
    ASSERT_TRUE(until([this] { return state_of("host1") == fabric::PortState::active; }));
    ASSERT_TRUE(until([this] { return state_of("host2") == fabric::PortState::active; }));
  }
  void turn() {
    ASSERT_EQ(loop_.wait(monotonic_now() + 1ms), 0);
    fabric_->advance(monotonic_now());
  }
  template <typename Condition>
  bool until(Condition condition) {
    const TimePoint end = monotonic_now() + 10s;
    bool holds = condition();
    for (; !holds && monotonic_now() < end; holds = condition()) turn();
    return holds;
  }
  fabric::PortState state_of(const std::string& host) const {
    return fabric_->state().port({*fabric_->topology().find(host), 1})->state;
  }
  wire::Lid lid_of(const std::string& host) const { return find_endport(fabric_->state(), host)->lid; }
  HostLanes& lanes_of(const std::string& host) {
    return fabric_->host(*fabric_->topology().find(host))->lanes();
  }
  /// Frames to a queue pair, in one message.
  std::vector<std::byte> message_to(const std::string& host, Qpn to) const {
    const link::FabricHeader header{link::FabricMessageType::frames, 1, 0};
    std::vector<std::byte> message(sizeof header + kFrames * (kFrameBytes + wire::kVcrcBytes));
    std::memcpy(message.data(), &header, sizeof header);
    for (std::size_t i = 0; i < kFrames; ++i) {
      const std::span frame =
          std::span(message).subspan(sizeof header + i * (kFrameBytes + wire::kVcrcBytes), kFrameBytes);
      wire::LinkHeader lrh;
      lrh.packet_length = kFrameBytes / 4;
      lrh.slid = lid_of("host1");
      lrh.dlid = lid_of(host);
      wire::encode_link_header(lrh, frame.first<wire::kLrhBytes>());
      store_be16(&frame[wire::kLrhBytes + 2], 0xffff);  // P_Key
      store_be24(&frame[wire::kLrhBytes + 5], to.value);
    }
    return message;
  }

  daemon::EventLoop loop_;
  std::unique_ptr<EmulatedFabric> fabric_;
};

// A port's buffer has room for three of them: the lane's message is not to arrive as five.
TEST_F(EmulatedFabricTest, WhatALaneSendsAtOnceArrivesAtOnce) {
  const std::uint32_t from = lanes_of("host1").take(-1, 0)->lane;
  const std::uint32_t to = lanes_of("host2").take(-1, 0)->lane;
  const auto sent = message_to("host2", Qpn::of(static_cast<std::uint8_t>(to), 77));
  ASSERT_EQ(send(lanes_of("host1").socket_of(from), sent.data(), sent.size(), 0), ssize_t(sent.size()));
  std::vector<std::byte> heard(link::kMaxFabricMessage);
  ssize_t size = 0;
  ASSERT_TRUE(until([&] {
    size = recv(lanes_of("host2").socket_of(to), heard.data(), heard.size(), MSG_DONTWAIT);
    return size > 0;
  }));
  heard.resize(static_cast<std::size_t>(size));
  EXPECT_EQ(heard, sent);
}

}  // namespace
}  // namespace softrnic::fabricd
