// Two connection managers on one TCP that tests control.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "iwcm/manager.h"
#include "tests/unit/cma/tcp.h"

namespace softrnic::iwcm {

/// An event, with what its spans showed.
struct Told {
  EventKind kind{};
  Id id{};
  ListenerId listener{};
  Endpoint local, remote;
  int status = 0;
  std::uint16_t ird = 0, ord = 0;
  std::string private_data;
  Reason reason;
};

inline Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline Endpoint at(std::uint8_t host, std::uint16_t port) {
  Endpoint endpoint;
  endpoint.host.raw[10] = endpoint.host.raw[11] = std::byte{0xff};
  endpoint.host.raw[12] = std::byte{10};
  endpoint.host.raw[15] = std::byte{host};
  endpoint.port = port;
  return endpoint;
}

class Node final : public Host {
 public:
  explicit Node(cma::Tcp& tcp, const Limits& limits = {})
      : streams(tcp, [this]() -> Manager& { return manager; }), manager(*this, streams, limits) {}

  void event(const Event& event) override {
    const auto* const data = reinterpret_cast<const char*>(event.private_data.data());
    events.push_back({event.kind, event.id, event.listener, event.local, event.remote, event.status,
                      event.ird, event.ord, std::string(data, event.private_data.size()), event.reason});
  }
  std::uint32_t random_number() override { return random_ = random_ * 1664525 + 1013904223; }
  void explain(const Reason& reason, const Endpoint&) override { explained.push_back(reason.id); }

  /// The next event, of this kind, or the test fails.
  Told expect(EventKind kind) {
    EXPECT_FALSE(events.empty()) << "no event where " << name_of(kind) << " was due";
    if (events.empty()) return {};
    const Told told = events.front();
    events.pop_front();
    EXPECT_EQ(name_of(told.kind), name_of(kind)) << told.status << ": " << describe(told.reason);
    return told;
  }

  cma::Tcp::Side streams;
  Manager manager;
  std::deque<Told> events;
  std::vector<ReasonId> explained;

 private:
  std::uint32_t random_ = 7;
};

/// A server that listens at port 7174 of 10.0.0.1, and a client at 10.0.0.2.
class Pair : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto listens = server.manager.listen({at(1, 7174), 10});
    ASSERT_TRUE(listens);
    listener = *listens;
  }
  void deliver() {
    tcp.now = now;
    while (tcp.deliver()) continue;
  }
  /// On to when something is due.
  void wait() {
    now = std::min(server.manager.deadline(), client.manager.deadline());
    ASSERT_NE(now, kNever);
    tcp.now = now;
    server.manager.advance(now);
    client.manager.advance(now);
    deliver();
  }
  Id connect(const std::string& data = {}, std::uint16_t ird = 4, std::uint16_t ord = 8) {
    Request request;
    request.local = at(2, 0);
    request.remote = at(1, 7174);
    request.offer = {ird, ord, bytes_of(data)};
    const auto id = client.manager.connect(request, now);
    EXPECT_TRUE(id);
    return id ? *id : Id(0);
  }
  /// A stream of a stranger, who says `data` and nothing more.
  Id stranger(const std::string& data) {
    Stranger& made = strangers.emplace_back();
    made.id = server.manager.incoming(listener, at(1, 7174), at(9, 1), now);
    say(made.id, data);
    return made.id;
  }
  void say(Id id, const std::string& data) {
    for (std::size_t i = 0; i < data.size();) {
      const std::size_t count = std::min(server.manager.wanted(id), data.size() - i);
      if (count == 0) return;
      server.manager.received(id, bytes_of(data.substr(i, count)), now);
      i += count;
    }
  }

  struct Stranger {
    Id id;
  };
  TimePoint now{std::chrono::seconds(1)};
  cma::Tcp tcp;
  Node server{tcp};
  Node client{tcp};
  ListenerId listener;
  std::deque<Stranger> strangers;
};

/// An MPA frame as a peer writes it.
inline std::string frame(wire::MpaFrame head, const std::string& rest) {
  head.private_bytes = static_cast<std::uint16_t>(rest.size());
  std::string out(wire::kMpaFrameBytes, '\0');
  wire::encode(head, std::as_writable_bytes(std::span(out)));
  return out + rest;
}

}  // namespace softrnic::iwcm
