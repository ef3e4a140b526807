// What cma asks of the connection manager below it, of which each way that devices connect has its own:
// packets of InfiniBand's CM (IbConnections), streams of TCP (IwarpConnections). The device of an id
// decides.
//
// The states that allow each call have been checked (check_call()). A call that fails has changed nothing,
// but where the peer has ended the connection meanwhile (ECONNRESET).
// What peers do comes back as events of the id (IdEvents).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cma/id.h"

namespace softrnic::cma {

class Connections {
 public:
  /// The id is in the state `connect` then.
  virtual Expected<void, Failure> connect(Id& id, const ConnectionParameters& parameters, const cm::Ece& ece,
                                          TimePoint now) = 0;
  /// See Manager::accept().
  virtual Expected<void, Failure> accept(Id& id, const std::optional<ConnectionParameters>& parameters,
                                         const cm::Ece& ece, TimePoint now) = 0;
  virtual Expected<void, Failure> reject(Id& id, cm::RejectReason reason, Bytes private_data,
                                         TimePoint now) = 0;
  virtual void disconnect(const Id& id, TimePoint now) = 0;
  /// The program has seen an event of the queue pair; of interest is IBV_EVENT_COMM_EST.
  virtual Expected<void, Failure> notify(const Id& id, std::uint32_t ibv_event, TimePoint now) = 0;
  /// The id is going: tells the peer what it has to know.
  virtual void end(const Id& id, TimePoint now) = 0;

 protected:
  ~Connections() = default;
};

}  // namespace softrnic::cma
