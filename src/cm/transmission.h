// Messages of a connection on their way out: sent, repeated until they are answered, and kept for duplicates
// of what they answer.
//
// Whoever forges an address must not make this side send more there than he does himself. So to a peer that
// has not proved that it receives there, only some datagrams go for each of its own (RFC 9000 8.1).
#pragma once

#include <cstdint>

#include "base/time.h"
#include "cm/connection_table.h"
#include "cm/host.h"

namespace softrnic::cm {

class Transmission {
 public:
  /// Both outlive this object.
  Transmission(Host& host, ConnectionTable& table) : host_(host), table_(table) {}

  /// A transaction ID that nobody foresees, for an exchange of ours about `id`.
  std::uint64_t new_transaction(Id id) { return std::uint64_t{host_.random_number()} << 32 | id.value; }

  /// Sends `mad` and keeps it.
  void send(Connection& connection, const mad::Mad& mad);
  /// The same, again every Connection::answer_within until the state changes, max_retries times.
  void send_until_answered(Connection& connection, const mad::Mad& mad, TimePoint now);
  /// Sends once more what was sent last. False and explained when it may not.
  bool repeat(Connection& connection);

  /// What send_until_answered() has sent is due. False: it was sent often enough.
  bool repeat_in_time(Connection& connection, TimePoint now);
  /// The same for an RTU, which nobody answers.
  void repeat_rtu(Connection& connection, TimePoint now);

 private:
  Host& host_;
  ConnectionTable& table_;
};

}  // namespace softrnic::cm
