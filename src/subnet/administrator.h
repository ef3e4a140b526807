// The subnet administrator (IBTA 15): answers what ports want to know of the subnet that its manager has
// brought up, and keeps what they register with it. Requests come to QP1; long answers leave by RMPP.
#pragma once

#include <set>

#include "mad/sm_info.h"
#include "subnet/datagrams.h"
#include "subnet/events.h"
#include "subnet/multicast_groups.h"
#include "subnet/sa_request.h"
#include "subnet/sa_services.h"
#include "subnet/sa_subscriptions.h"
#include "subnet/sa_transfers.h"

namespace softrnic::subnet {

class Administrator {
 public:
  /// All that is given here stays; it is the manager's.
  Administrator(DatagramPort& port, EventSink& events, const SaView& view, MulticastGroups& groups)
      : port_(port), events_(events), view_(view), groups_(groups), subscriptions_(port), transfers_(port) {}

  /// A datagram of class SubnAdm. `own` is what the manager is.
  void receive(const DatagramAddress& from, const mad::Mad& mad, const mad::SmInfo& own, TimePoint now);
  void advance(TimePoint now);
  TimePoint deadline() const;

  /// The subnet was brought up, as it is now: tells of ports that came and went.
  void subnet_changed(TimePoint now);
  /// A trap came from a port of the subnet: tells those who want to hear of it.
  void report(const mad::Notice& notice, TimePoint now);
  /// All that was registered: another manager is master now.
  void forget();

  const Services& services() const { return services_; }
  const Subscriptions& subscriptions() const { return subscriptions_; }
  const SaTransfers& transfers() const { return transfers_; }

 private:
  struct Handler;
  static const Handler kHandlers[];
  template <auto function>
  static mad::SaStatus by(Administrator& sa, const SaRequest& request, TimePoint now, SaRecords& out);

  void answer(const SaRequest& request, TimePoint now);
  void respond(const SaRequest& request, const SaRecords& records, TimePoint now);
  void refuse(const SaRequest& request, std::uint16_t status);
  void send_answer(const SaRequest& request, std::uint16_t status, const SaRecords& records, TimePoint now);
  void tell_lives(TimePoint now);
  mad::Notice notice_of(mad::Trap trap, const wire::Gid& gid) const;
  mad::SaStatus query_class_info(const SaRequest& request, SaRecords& out) const;

  DatagramPort& port_;
  EventSink& events_;
  SaView view_;
  MulticastGroups& groups_;
  Services services_;
  Subscriptions subscriptions_;
  SaTransfers transfers_;
  mad::SmInfo own_;
  std::set<Guid> known_ports_;
  bool knows_ports_ = false;
};

}  // namespace softrnic::subnet
