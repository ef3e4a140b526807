// Connections by streams of TCP, on iWARP devices: from rdma_cm's calls to iwcm, and from iwcm's events to
// those of rdma_cm. As on Linux the active side hears ESTABLISHED at once, without CONNECT_RESPONSE, and
// failures have a negative errno as their status.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "cma/connections.h"
#include "cma/device_table.h"
#include "cma/host.h"
#include "cma/id_events.h"
#include "cma/id_table.h"
#include "cma/iwarp_listeners.h"
#include "iwcm/manager.h"

namespace softrnic::cma {

class IwarpConnections final : public Connections, private iwcm::Host {
 public:
  /// What it works on; all outlive it.
  struct Parts {
    cma::Host& host;
    iwcm::Streams& streams;
    const DeviceTable& devices;
    IdTable& ids;
    IdEvents& events;
    iwcm::Limits limits;
  };
  /// `forget`: ends the id of a request that nobody will hear of.
  IwarpConnections(const Parts& parts, std::function<void(IdNumber)> forget);

  Expected<void, Failure> connect(Id& id, const ConnectionParameters& parameters, const cm::Ece& ece,
                                  TimePoint now) override;
  Expected<void, Failure> accept(Id& id, const std::optional<ConnectionParameters>& parameters,
                                 const cm::Ece& ece, TimePoint now) override;
  Expected<void, Failure> reject(Id& id, cm::RejectReason reason, Bytes private_data, TimePoint now) override;
  void disconnect(const Id& id, TimePoint now) override;
  Expected<void, Failure> notify(const Id& id, std::uint32_t ibv_event, TimePoint now) override;
  void end(const Id& id, TimePoint now) override;

  /// Also of an id that has no device yet. See IwarpListeners.
  Expected<void, Failure> listen(const Id& id) { return listeners_.listen(id); }
  void unlisten(const Id& id) { listeners_.unlisten(id.number); }
  void devices_changed();
  /// See Manager::has_stream().
  Expected<void, Failure> has_stream(const Id& id) { return streams_.confirm(id.stream); }
  /// See Manager::handover().
  std::optional<Handover> handover(const Id& id) const;

  /// 0: none.
  IdNumber id_with_token(std::uint64_t token) const;

  iwcm::Manager& streams() { return streams_; }
  const iwcm::Manager& streams() const { return streams_; }

 private:
  // iwcm::Host
  void event(const iwcm::Event& event) override;
  std::uint32_t random_number() override { return to_.host.random_number(); }
  void explain(const Reason& reason, const iwcm::Endpoint& peer) override;

  Id* id_of(iwcm::Id stream) const;
  /// Of a request that was just accepted: decides how the messages of both ends go.
  void choose_way(Id& id);
  iwcm::Endpoint heard_at(const SocketAddress& destination) const;
  void attach(Id& id, iwcm::Id stream);
  void requested(const iwcm::Event& event);
  /// False: the listener takes no more, which is explained.
  bool has_room(const Id& listener, const iwcm::Event& event);
  void given_up(Id& request);
  void replied(Id& id, const iwcm::Event& event);
  void established(Id& id, const iwcm::Event& event);
  void closed(Id& id, const iwcm::Event& event);

  Parts to_;
  std::function<void(IdNumber)> forget_;
  iwcm::Manager streams_;
  IwarpListeners listeners_;
  std::map<iwcm::Id, IdNumber> id_numbers_;
};

}  // namespace softrnic::cma
