#include "cma/states.h"

#include <array>
#include <cerrno>
#include <initializer_list>

#include "base/reason_id.h"

namespace softrnic::cma {
namespace {

constexpr std::array<std::string_view, kStates> kNames = {
    "IDLE",       "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_QUERY",    "ROUTE_RESOLVED", "CONNECT",
    "DISCONNECT", "ADDR_BOUND", "LISTEN",        "DEVICE_REMOVAL", "DESTROYING"};

constexpr unsigned in(std::initializer_list<State> states) {
  unsigned mask = 0;
  for (const State state : states) mask |= 1U << static_cast<unsigned>(state);
  return mask;
}

// Row: call; value: the states it is possible in. A call may need more, such as a device.
constexpr std::array<unsigned, kCalls> kAllowed = {
    /* bind */ in({State::idle}),
    /* resolve_address: an id that is not bound gets a port on the way */
    in({State::idle, State::address_bound}),
    /* resolve_route */ in({State::address_resolved}),
    /* connect */ in({State::route_resolved}),
    /* listen: an id that is not bound listens on a port of the kernel's, here the manager's, choice */
    in({State::idle, State::address_bound}),
    /* accept */ in({State::connect}),
    /* reject */ in({State::connect}),
    /* disconnect: the second call of two sides that part at once is no mistake */
    in({State::connect, State::disconnect}),
    /* notify */ in({State::connect, State::disconnect}),
    /* init_qp_attributes */
    in({State::address_bound, State::address_resolved, State::route_query, State::route_resolved,
        State::connect}),
    /* join_multicast */
    in({State::address_bound, State::address_resolved, State::route_query, State::route_resolved,
        State::connect}),
    /* set_reuse_address */
    in({State::idle, State::address_bound}),
    /* set_address_family_only */ in({State::idle, State::address_bound}),
};

}  // namespace

std::string_view name_of(State state) {
  const auto index = static_cast<std::size_t>(state);
  return index < kNames.size() ? kNames[index] : "?";
}

Expected<void, Failure> check_call(Call call, State state) {
  if ((kAllowed[static_cast<std::size_t>(call)] & (1U << static_cast<unsigned>(state))) != 0) return {};
  return Unexpected{
      refuse(EINVAL, ReasonId::cma_call_state, static_cast<unsigned>(call), static_cast<unsigned>(state))};
}

}  // namespace softrnic::cma
