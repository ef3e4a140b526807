// A port with two programs that have opened it, for tests of agents: keeps what was sent and told.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <string>

#include "mad/agents.h"
#include "mad/class_rules.h"

namespace softrnic::mad {

inline constexpr ManagementClass kPing{0x32};  // of ibping, with OpenIB's OUI
inline constexpr std::uint32_t kOpenIb = 0x001405;
inline constexpr ManagementClass kSa = ManagementClass::subnet_administration;
inline constexpr ManagementClass kPerformance = ManagementClass::performance;

inline Mad make_mad(ManagementClass management_class, Method method, std::uint64_t transaction,
                    std::uint8_t version = 1) {
  Mad mad{};
  Header header;
  header.management_class = management_class;
  header.class_version = version;
  header.method = method;
  header.transaction = transaction;
  encode_header(header, mad);
  return mad;
}

inline Mad vendor_mad(Method method, std::uint64_t transaction, std::uint32_t oui = kOpenIb) {
  Mad mad = make_mad(kPing, method, transaction);
  store_be24(&mad[37], oui);
  return mad;
}

inline Header header_of(Bytes message) {
  Mad mad{};
  std::copy(message.begin(), message.end(), mad.begin());
  const auto header = parse_header(mad);
  EXPECT_TRUE(header) << "no datagram";
  return header ? *header : Header{};
}

inline Registration takes(ManagementClass management_class, std::initializer_list<Method> methods,
                          std::uint8_t version = 1) {
  Registration registration;
  registration.queue = is_subnet_management(management_class) ? Queue::smi : Queue::gsi;
  registration.management_class = management_class;
  registration.class_version = version;
  if (is_vendor_range2(management_class)) registration.oui = kOpenIb;
  for (const Method method : methods) registration.methods.set(static_cast<std::size_t>(method));
  return registration;
}

class AgentsTest : public testing::Test, private AgentHost {
 protected:
  struct Sent {
    Queue queue;
    Peer to;
    Mad mad;
  };

  std::uint32_t add(OpenId open, const Registration& registration) {
    const auto added = agents.add_agent(open, registration);
    EXPECT_TRUE(added) << (added ? "" : describe(added.error().reason));
    return added ? *added : 99;
  }
  int add_error(OpenId open, const Registration& registration) {
    const auto added = agents.add_agent(open, registration);
    return added ? 0 : added.error().error;
  }
  int send(OpenId open, std::uint32_t agent, Bytes message, std::uint32_t timeout_ms = 0,
           std::uint32_t retries = 0) {
    const auto done = agents.send(
        open, agent, {.to = peer, .timeout_ms = timeout_ms, .retries = retries, .message = message}, now);
    return done ? 0 : done.error().error;
  }
  Agents::Receipt receive(const Mad& mad, Queue queue = Queue::gsi) {
    return agents.receive(queue, peer, mad, now);
  }
  /// What waits for the program that has opened the port; the test fails when nothing does.
  Received take(OpenId open) {
    const Received* const front = agents.front(open);
    EXPECT_NE(front, nullptr);
    if (front == nullptr) return {};
    Received taken = *front;
    agents.pop(open);
    return taken;
  }
  /// The response to the datagram that was sent last.
  Mad response_to_last() const {
    Mad mad = sent.back().mad;
    mad[3] = std::byte{0x81};
    return mad;
  }

  AgentIds ids;
  Agents agents{*this, ids, {.has_qp0 = true, .lmc = 0}};
  OpenId first = agents.open(), second = agents.open();
  TimePoint now{};
  Peer peer{.lid = 7};
  std::deque<Sent> sent;
  std::vector<OpenId> announced;
  std::vector<ReasonId> reasons;
  bool answers_at_once = false;

 private:
  void send(Queue queue, const Peer& to, Bytes mad) override {
    Sent& out = sent.emplace_back(Sent{queue, to, {}});
    std::copy(mad.begin(), mad.end(), out.mad.begin());
    if (answers_at_once) receive(response_to_last(), queue);
  }
  void received(OpenId open) override { announced.push_back(open); }
  void explain(const Reason& reason) override { reasons.push_back(reason.id); }
};

}  // namespace softrnic::mad
