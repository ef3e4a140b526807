// Connections by InfiniBand's CM. What programs tell their peers: REQ, REP, RTU, REJ, DREQ, and for
// datagrams SIDR_REQ and SIDR_REP. What peers tell: PeerEvents.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/manager.h"
#include "cma/connections.h"
#include "cma/id_table.h"
#include "cma/patience.h"

namespace softrnic::cma {

class IbConnections final : public Connections {
 public:
  /// All outlive this object.
  IbConnections(cm::Manager& cm, IdTable& ids, Patience& patience)
      : cm_(cm), ids_(ids), patience_(patience) {}

  Expected<void, Failure> connect(Id& id, const ConnectionParameters& parameters, const cm::Ece& ece,
                                  TimePoint now) override;
  Expected<void, Failure> accept(Id& id, const std::optional<ConnectionParameters>& parameters,
                                 const cm::Ece& ece, TimePoint now) override;
  Expected<void, Failure> reject(Id& id, cm::RejectReason reason, Bytes private_data, TimePoint now) override;
  void disconnect(const Id& id, TimePoint now) override;
  Expected<void, Failure> notify(const Id& id, std::uint32_t ibv_event, TimePoint now) override;
  void end(const Id& id, TimePoint now) override;

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
