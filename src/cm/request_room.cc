#include "cm/request_room.h"

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

struct Bounds {
  std::size_t all, of_peer;
};
Bounds bounds_of(Burden burden, const Limits& limits) {
  switch (burden) {
    case Burden::held:
      return {limits.held, limits.held_peer};
    case Burden::asked:
      return {limits.asked, limits.asked_peer};
    default:
      return {limits.half_open, limits.half_open_peer};
  }
}

}  // namespace

// The oldest goes without a word: an honest peer repeats its request, and others are not to be told anything.
bool RequestRoom::make(const Incoming& in, Burden burden) {
  const auto [most, most_of_peer] = bounds_of(burden, limits_);
  const std::size_t of_peer = table_.burden(burden, in.from.remote), all = table_.burden(burden);
  const bool peer_full = of_peer >= most_of_peer;
  if (!peer_full && all < most && table_.size() < limits_.connections) return true;
  Connection* oldest = peer_full ? table_.oldest(burden, in.from.remote) : table_.oldest(burden);
  if (!peer_full && all < most)  // the table is full
    for (const Burden before : {Burden::asked, Burden::held})
      if (table_.burden(before) != 0) oldest = table_.oldest(before);
  if (oldest == nullptr) {
    host_.explain(because(ReasonId::cm_too_many_ids, table_.size()), in.from);
    return false;
  }
  Event event{.kind = EventKind::unreachable};
  event.reason = because(ReasonId::cm_limit, in.header.attribute, peer_full ? of_peer : all,
                         peer_full ? most_of_peer : most);
  host_.explain(event.reason, in.from);
  table_.forget_request(*oldest);
  lifecycle_.conclude(*oldest, event);
  return true;
}

bool RequestRoom::may_stay(const Connection& connection) const {
  return connection.burden != Burden::refused ||
         (table_.burden(Burden::refused) <= limits_.refused &&
          table_.burden(Burden::refused, connection.peer.remote) <= limits_.refused_peer);
}

}  // namespace softrnic::cm
