// The states of a communication id, and which call is possible in which of them: one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::cma {

/// In the order and with the names of rdma(8).
enum class State : std::uint8_t {
  idle,
  address_query,
  address_resolved,
  route_query,
  route_resolved,
  connect,  ///< a REQ, a REP or the connection is there
  disconnect,
  address_bound,
  listen,
  device_removal,
  destroying,
};
inline constexpr std::size_t kStates = 11;

/// The calls of rdma_cm that depend on the state. Also figures of the form "cma_call", see
/// base/reason_words.h.
enum class Call : std::uint8_t {
  bind,
  resolve_address,
  resolve_route,
  connect,
  listen,
  accept,
  reject,
  disconnect,
  notify,
  init_qp_attributes,
  join_multicast,
  set_reuse_address,
  set_address_family_only,
};
inline constexpr std::size_t kCalls = 13;

/// "ADDR_RESOLVED", … as rdma(8) prints them.
std::string_view name_of(State state);

/// EINVAL and a reason when `call` is not possible in `state`.
Expected<void, Failure> check_call(Call call, State state);

}  // namespace softrnic::cma
