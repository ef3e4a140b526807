// A connection as the manager's parts know it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "iwcm/types.h"
#include "transport/iwarp/mpa_initiator.h"
#include "transport/iwarp/mpa_responder.h"

namespace softrnic::iwcm {

enum class State : std::uint8_t {
  queued,       ///< active: until there is room; without a socket
  opening,      ///< active: TCP is connecting
  refused,      ///< active: nobody listens yet; TCP is asked again at the deadline
  initiating,   ///< active: the MPA request is sent
  waiting,      ///< passive: for the MPA request. Nobody knows of it yet
  requested,    ///< passive: for the program
  established,  ///< the stream is the program's, or waits for it
  over,         ///< without a stream; for the program to destroy it
};

struct Connection {
  Id id{};
  State state{};
  Endpoint local, remote;
  ListenerId listener{};                           ///< 0: active
  std::uint32_t user = 0;                          ///< whose program it is for
  std::unique_ptr<iwarp::MpaInitiator> initiator;  ///< initiating
  std::unique_ptr<iwarp::MpaResponder> responder;  ///< waiting, requested

  // active, until established: to connect once more by revision 1
  Endpoint wanted_local;
  std::vector<std::byte> private_data;
  std::uint16_t ird = 0, ord = 0;
  std::uint8_t tos = 0;
  wire::MpaDemands demands{};
  std::uint8_t revision = wire::kMpaHighestRevision;
  TimePoint asks_until{};  ///< so long who listens at last is found
  bool wants_end = false;  ///< the program has disconnected already

  // established
  std::uint64_t token = 0;
  iwarp::MpaAgreement agreement;
  bool taken = false;        ///< the stream has left this host's streams: its end comes by stream_over()
  bool confirmed = false;    ///< passive: the program has the stream
  bool ended_early = false;  ///< passive: and lost it before it said so

  TimePoint deadline = kNever;  ///< kept by ConnectionTable, as are the next and `taken`
  std::uint64_t turn = 0;       ///< among those that wait at the same listener
};

}  // namespace softrnic::iwcm
