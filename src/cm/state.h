// The states of a communication ID (IBTA 12.9.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace softrnic::cm {

enum class State : std::uint8_t {
  idle,
  req_sent,
  req_received,
  mra_req_sent,      ///< passive: the request is delayed
  mra_req_received,  ///< active: the peer delays the request
  rep_sent,
  rep_received,
  mra_rep_sent,      ///< active: the reply is delayed
  mra_rep_received,  ///< passive: the peer delays the reply
  established,
  dreq_sent,
  dreq_received,
  timewait,
  sidr_req_sent,
  sidr_req_received,
};
inline constexpr std::size_t kStates = 15;

/// "REQ_SENT", … as IBTA writes them.
std::string_view name_of(State state);

}  // namespace softrnic::cm
