// What the connection manager tells its host.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/reason.h"
#include "cm/types.h"

namespace softrnic::cm {

enum class EventKind : std::uint8_t {
  request,      ///< passive: a REQ for a listener; `id` is new. Answer with reply(), reject() or destroy()
  reply,        ///< active: the REP came. Answer with confirm(), reject() or destroy()
  established,  ///< passive: the RTU came, or established() was called
  rejected,     ///< a REJ came: rejection, about, additional_info; the id is idle or in timewait
  unreachable,  ///< active: no answer to the REQ; passive: no RTU, or given up for newer requests, see reason
  delayed,      ///< active: an MRA came; the time-out is extended. For information
  disconnect_request,  ///< a DREQ came. Answer with disconnect_reply() or destroy()
  disconnect_reply,  ///< the DREP to our DREQ came, or the peer's DREQ crossed ours (answered by the manager)
  disconnect_timeout,  ///< our DREQ was never answered; the connection is over all the same
  timewait_exit,  ///< no packet of the connection can be under way any more: the id is idle, destroy() it
  service_id_request,  ///< passive: a SIDR_REQ for a listener; `id` is new. Answer with answer() or destroy()
  service_id_reply,    ///< active: the SIDR_REP came; the id is idle
  service_id_timeout,  ///< active: no SIDR_REP; the id is idle
};

/// Spans are good until Host::event() returns. Fields that a kind does not name keep their defaults.
struct Event {
  EventKind kind{};
  Id id{};
  ServiceId service_id{};  ///< request, service_id_request
  Id listener{};           ///< request, service_id_request: what listen() returned
  Service service{};       ///< request
  Path path{};          ///< request, service_id_request: as this side sees it; service_id_reply: of the reply
  Endpoint endpoint{};  ///< request, reply: the peer's
  std::uint8_t retry_count = 0;              ///< request: of the queue pairs
  std::uint8_t max_cm_retries = 0;           ///< request
  std::uint8_t local_response_timeout = 0;   ///< request: 5-bit code, what the peer grants this side
  std::uint8_t remote_response_timeout = 0;  ///< request: 5-bit code, what the peer itself may take
  std::uint8_t target_ack_delay = 0;         ///< reply: 5-bit code
  std::uint8_t service_timeout = 0;          ///< delayed: 5-bit code
  RejectReason rejection{};                  ///< rejected
  About about{};                             ///< rejected, delayed
  SidrReply sidr{};                          ///< service_id_reply
  Bytes additional_info{};                   ///< rejected, service_id_reply; as long as the message says
  Bytes private_data{};  ///< of the message: all bytes that its format has room for, padding included
  Reason reason{};       ///< what went wrong: rejected, the time-outs, service_id_reply with a status
};

/// "request", "established", …
std::string_view name_of(EventKind kind);

}  // namespace softrnic::cm
