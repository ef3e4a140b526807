// What programs tell their peers: REQ, REP, RTU, REJ, DREQ, and for datagrams SIDR_REQ and SIDR_REP. What
// peers tell: PeerEvents.
//
// The states that allow each call have been checked (check_call()). A call that fails has changed nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/manager.h"
#include "cma/id_table.h"
#include "cma/patience.h"

namespace softrnic::cma {

class Connector {
 public:
  /// All outlive this object.
  Connector(cm::Manager& cm, IdTable& ids, Patience& patience) : cm_(cm), ids_(ids), patience_(patience) {}

  Expected<void, Failure> connect(Id& id, const ConnectionParameters& parameters, const cm::Ece& ece,
                                  TimePoint now);
  /// See Manager::accept().
  Expected<void, Failure> accept(Id& id, std::uint64_t cookie,
                                 const std::optional<ConnectionParameters>& parameters, const cm::Ece& ece,
                                 TimePoint now);
  Expected<void, Failure> reject(Id& id, cm::RejectReason reason, Bytes private_data, TimePoint now);
  void disconnect(const Id& id, TimePoint now);
  /// The program has seen an event of the queue pair; of interest is IBV_EVENT_COMM_EST.
  Expected<void, Failure> notify(const Id& id, std::uint32_t ibv_event, TimePoint now);

 private:
  Expected<void, Failure> connect_datagram(Id& id, const ConnectionParameters& parameters, TimePoint now);
  Expected<void, Failure> accept_passive(Id& id, const ConnectionParameters& parameters, const cm::Ece& ece,
                                         TimePoint now);
  Expected<void, Failure> accept_datagram(Id& id, const ConnectionParameters& parameters, const cm::Ece& ece,
                                          TimePoint now);
  void connecting(Id& id, cm::Id connection, const ConnectionParameters& parameters);

  cm::Manager& cm_;
  IdTable& ids_;
  Patience& patience_;
};

}  // namespace softrnic::cma
