// Version and token: what both sides say before anything else. A side that does not know the token learns
// nothing, not even where it could write to.
#pragma once

#include <functional>
#include <string>

#include "copy/connection.h"

namespace softrnic::copy {

/// Limits of what a peer may say about its ring.
inline constexpr std::uint32_t kMinSlotSize = 4096;
inline constexpr std::uint32_t kMaxSlotSize = 1U << 20;

/// What the greeting has settled.
struct Greeted {
  Role role = Role::ping;
  std::uint64_t capabilities = 0;  ///< that both sides have
  Ring ring;                       ///< the peer's
  Clock::duration round_trip{};    ///< of a message and its answer
};

/// What a client wants.
struct Wish {
  Role role = Role::ping;
  Ring ring;                      ///< where it takes frames
  std::uint32_t queue_pairs = 0;  ///< 0: as many as help
};

/// The client's side.
Result<Greeted> greet_server(Connection& connection, const std::string& token, const Wish& wish,
                             Deadline deadline);

/// The server's side. `admit` is asked once the client has proved that it knows the token: it returns the
/// server's ring for the role, or why the client is refused.
Result<Greeted> greet_client(Connection& connection, const std::string& token, Deadline deadline,
                             const std::function<Result<Ring>(Role)>& admit);

/// Tells the client why there is nothing for it here, and ends.
void turn_away(Connection& connection, const std::string& why, Deadline deadline);

}  // namespace softrnic::copy
