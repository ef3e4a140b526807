// The parts of a manager that all others stand on, without one, for tests of a single part.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "cm/connection_table.h"
#include "cm/lifecycle.h"
#include "cm/listeners.h"
#include "cm/transmission.h"
#include "tests/support/cm_host.h"

namespace softrnic::cm {

class Parts : public ::testing::Test {
 protected:
  static wire::Gid gid(std::uint32_t last) { return wire::Gid::from_ipv4_be(htonl(0x0a000000 + last)); }
  /// A connection whose peer is 10.0.0.`peer`.
  Connection& add(std::uint32_t id, std::uint32_t peer = 1) {
    Connection& connection = table.add(Id(id));
    connection.peer.remote = gid(peer);
    connection.datagrams_in = 1;
    return connection;
  }
  std::vector<Message> sent() {
    std::vector<Message> messages;
    for (const auto& entry : host.take_sent()) messages.push_back(entry.message());
    return messages;
  }
  using Messages = std::vector<Message>;

  testing::CmHost host;
  ConnectionTable table;
  Listeners listeners;
  Lifecycle lifecycle{host, table, listeners, 4};
  Transmission transmission{host, table};
  TimePoint now{std::chrono::seconds(1)};
};

}  // namespace softrnic::cm
