// The connection manager: the active and the passive side of communication establishment and release (IBTA 12.9), and
// service ID resolution (12.11). Pure: MADs, wishes and the time come in; MADs, events and the next deadline go out.
//
// Calls come from one thread, with a time that never runs backwards. Events are told from inside receive(), advance()
// and established(), each as the last act on its connection: the host may call any method from there, destroy() of the
// same id included.
//
// A method that is refused returns the errno that ib_cm would (EINVAL: not in this state, or a value out of range;
// ENOENT: no such id; EADDRINUSE, EMFILE) and a reason; nothing has changed then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/event.h"
#include "cm/state.h"
#include "cm/types.h"
#include "mad/address.h"

namespace softrnic::cm {

/// What the manager asks of the adapter it lives in.
class Host {
 public:
  /// Sends a MAD of 256 bytes; may be lost. Must not call back.
  virtual void send(const mad::Address& to, Bytes mad) = 0;
  /// May call back, see above.
  virtual void event(const Event& event) = 0;
  /// 32 random bits: communication IDs, transaction IDs. Must not call back.
  virtual std::uint32_t random_number() = 0;
  /// A MAD was dropped, refused or rejected without the host's doing. Must not call back.
  virtual void explain(const Reason& reason, const mad::Address& peer) = 0;

 protected:
  ~Host() = default;
};

/// Bounds on what peers can make this side remember; each refusal is explained. An ID takes some 700 bytes.
struct Limits {
  /// Passive connections and SIDR requests that the host has not answered or the peer not confirmed; further requests are
  /// dropped, so that those who mean it succeed when they repeat theirs.
  std::size_t half_open = 32768;
  std::size_t half_open_peer = 16384;  ///< of them, from one remote GID
  /// Refused requests that are remembered so that their repetitions are answered alike, without asking the host. Those
  /// beyond it are forgotten: the host hears of a repetition as of a new request.
  std::size_t refused = 16384;
  std::size_t refused_peer = 4096;
  std::size_t connections = 65536;  ///< all ids: destroyed ones that still wait, and timewait, included
};

class Manager {
 public:
  /// `host` outlives the manager. `ca_guid` is the adapter's node GUID.
  Manager(Host& host, std::uint64_t ca_guid, const Limits& limits = {});
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // ---- passive side
  /// Requests for service IDs that equal `service_id` where `mask` has ones are told from now on, with the Id returned
  /// as the event's listener. EADDRINUSE when another listener's range overlaps.
  Expected<Id, Failure> listen(ServiceId service_id, std::uint64_t mask = ~std::uint64_t{0});
  /// Requests that were told already are not affected.
  void unlisten(Id listener);
  /// Sends the REP; again until the RTU comes.
  Expected<void, Failure> reply(Id id, const Reply& reply, TimePoint now);
  /// Sends an MRA: the host needs up to duration_of(service_timeout) more. On a request, or (active) on a reply.
  Expected<void, Failure> delay(Id id, std::uint8_t service_timeout, Bytes private_data, TimePoint now);
  /// The first packet came before the RTU (IBV_EVENT_COMM_EST): tells the established event at once.
  Expected<void, Failure> established(Id id, TimePoint now);

  // ---- active side
  /// Sends the REQ; again until it is answered. EMFILE: Limits::connections.
  Expected<Id, Failure> connect(const Request& request, TimePoint now);
  /// After the reply event: sends the RTU, the connection is established.
  Expected<void, Failure> confirm(Id id, Bytes private_data, TimePoint now);

  // ---- both sides
  /// Of a request that was told, or of a reply. Active before the reply: EINVAL, use destroy(). The id goes through
  /// timewait to idle without an event of its own, except timewait_exit.
  Expected<void, Failure> reject(Id id, const Rejection& rejection, TimePoint now);
  /// Sends a DREQ; again until it is answered.
  Expected<void, Failure> disconnect(Id id, Bytes private_data, TimePoint now);
  /// After disconnect_request: sends the DREP, the id enters timewait.
  Expected<void, Failure> disconnect_reply(Id id, Bytes private_data, TimePoint now);
  /// Forgets the id in whatever state, telling the peer what it has to know (REJ, DREQ, DREP, SIDR_REP). No event of the
  /// id is told any more; what the protocol still has to do (repeat the DREQ, wait out timewait) goes on unseen.
  /// An id that does not exist is ignored.
  void destroy(Id id, TimePoint now);

  // ---- service ID resolution
  Expected<Id, Failure> request_service_id(const SidrRequest& request, TimePoint now);
  Expected<void, Failure> answer(Id id, const SidrReply& reply, TimePoint now);

  // ---- the world
  /// A MAD of class `communication` came. `from.local` is the GID it was sent to.
  void receive(const mad::Address& from, Bytes mad, TimePoint now);
  /// Does what is due at `now`.
  void advance(TimePoint now);
  /// When advance() has something to do next; kNever when nothing.
  TimePoint deadline() const;

  // ---- for people
  /// The state of a live id, nothing for one that does not exist or was destroyed.
  std::optional<State> state(Id id) const;
  /// All ids, destroyed ones that still wait included; listeners not.
  std::size_t size() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace softrnic::cm
