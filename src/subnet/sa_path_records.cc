#include "subnet/sa_path_records.h"

#include <limits>
#include <optional>
#include <vector>

#include "subnet/path_finder.h"

namespace softrnic::subnet {
namespace {

using mad::PathRecord;
using mad::SaStatus;
using mad::Selector;

/// Pairs of ports that one query looks at, whatever it asks for.
constexpr std::size_t kMostPairs = std::size_t{1} << 21;
constexpr std::uint8_t kRouterHopLimit = 0xff;
constexpr std::uint8_t kWorstPreference = 2;

constexpr std::uint64_t kAsksForMtu =
    mad::component<PathRecord>("mtu") | mad::component<PathRecord>("mtu_selector");
constexpr std::uint64_t kAsksForRate =
    mad::component<PathRecord>("rate") | mad::component<PathRecord>("rate_selector");
constexpr std::uint64_t kAsksForLifeTime =
    mad::component<PathRecord>("packet_life_time") | mad::component<PathRecord>("packet_life_time_selector");

/// The best that there is, or what was asked for if the path can do that; nothing if it cannot. A selector
/// alone asks for nothing.
std::optional<std::uint8_t> choose_number(Selector selector, std::uint8_t wanted, std::uint8_t have) {
  switch (selector) {
    case Selector::greater_than:
      return have > wanted ? std::optional(have) : std::nullopt;
    case Selector::less_than:
      if (have < wanted) return have;
      return wanted > 1 ? std::optional(static_cast<std::uint8_t>(wanted - 1)) : std::nullopt;
    case Selector::exactly:
      return have >= wanted ? std::optional(wanted) : std::nullopt;
    case Selector::best:
      return have;
  }
  return std::nullopt;
}

std::optional<mad::Rate> choose_rate(Selector selector, mad::Rate wanted, mad::Rate have) {
  switch (selector) {
    case Selector::greater_than:
      return is_slower(wanted, have) ? std::optional(have) : std::nullopt;
    case Selector::less_than:
      if (is_slower(have, wanted)) return have;
      return previous_rate(wanted) != mad::Rate::none ? std::optional(previous_rate(wanted)) : std::nullopt;
    case Selector::exactly:
      return mad::data_rate(have) == mad::data_rate(wanted) ? std::optional(wanted) : std::nullopt;
    case Selector::best:
      return have;
  }
  return std::nullopt;
}

/// What is asked of a path, whichever query asks it.
struct Wishes {
  std::uint64_t mask = 0;  // of PathRecord
  PathRecord record;

  bool has(std::uint64_t components) const { return (mask & components) == components; }
};

class PathQuery {
 public:
  PathQuery(const SaView& view, const SaRequest& request, const Wishes& wishes, SaRecords& out)
      : view_(view), request_(request), wishes_(wishes), out_(out), finder_(view) {
    if (request.is_get()) most_ = 1;
    if (!request.is_get() && wishes.has(mad::component<PathRecord>("num_paths")))
      most_ = wishes.record.num_paths;
  }

  /// All paths between two ports, up to the number that is wanted. `remote`: a GID beyond a router, which
  /// `destination` is then.
  void add_pair(EndPortId source, EndPortId destination, const wire::Gid* remote = nullptr) {
    ++pairs_;
    const EndPort& from = view_.database.graph().at(source);
    const EndPort& to = view_.database.graph().at(destination);
    if (!may_connect(source, destination)) return;
    std::size_t found = 0;
    // Paths that share no LID first, as they may share no link either; they are preferred (opensm does the
    // same).
    for (const bool apart : {true, false}) {
      for (unsigned i = 0; i < from.lids() * to.lids() && found < most_; ++i) {
        const unsigned s = i / to.lids();
        const unsigned d = i % to.lids();
        if ((s == d) != apart || !is_meant(from.lid(s), to.lid(d))) continue;
        const std::uint8_t preference = apart ? std::uint8_t{0} : kWorstPreference;
        if (add(source, from.lid(s), destination, to.lid(d), preference, remote)) ++found;
      }
    }
  }
  bool is_exhausted() const { return pairs_ > kMostPairs || out_.is_full(); }
  bool is_satisfied() const { return request_.is_get() && out_.count() > 0; }

 private:
  bool may_connect(EndPortId source, EndPortId destination) const {
    const auto& topology = view_.database.topology;
    const NodePort from = topology.port_of(source);
    const NodePort to = topology.port_of(destination);
    return view_.may_see(request_.requester, from) && view_.may_see(request_.requester, to) &&
           view_.may_see(from, to);
  }
  bool is_meant(Lid source, Lid destination) const {
    const bool other_source =
        wishes_.has(mad::component<PathRecord>("slid")) && wishes_.record.slid != source;
    const bool other_destination =
        wishes_.has(mad::component<PathRecord>("dlid")) && wishes_.record.dlid != destination;
    return !other_source && !other_destination;
  }

  bool add(EndPortId source, Lid slid, EndPortId destination, Lid dlid, std::uint8_t preference,
           const wire::Gid* remote) {
    auto record = one_way(source, destination, dlid);
    if (!record) return false;
    record->reversible = one_way(destination, source, slid).has_value();
    // A query that says 0 does not care (IBTA 15.2.5.16).
    const bool must_reverse =
        wishes_.has(mad::component<PathRecord>("reversible")) && wishes_.record.reversible;
    if (must_reverse && !record->reversible) return false;
    const std::uint64_t prefix = view_.options.ports.subnet_prefix;
    record->slid = slid;
    record->dlid = dlid;
    record->sgid = mad::gid_of(prefix, view_.database.graph().at(source).guid);
    record->dgid =
        remote != nullptr ? *remote : mad::gid_of(prefix, view_.database.graph().at(destination).guid);
    if (remote != nullptr) record->hop_limit = kRouterHopLimit;
    record->preference = preference;
    out_.add(*record);
    return true;
  }

  /// What depends on the direction.
  std::optional<PathRecord> one_way(EndPortId source, EndPortId destination, Lid dlid) const {
    const auto path = finder_.trace(view_.database.topology.port_of(source), dlid);
    if (!path) return std::nullopt;
    PathRecord record;
    record.mtu_selector = record.rate_selector = record.packet_life_time_selector = Selector::exactly;
    record.mtu = path->mtu;
    record.rate = path->rate;
    // Packets that do not leave their port take no time (IBTA 15.2.5.16).
    record.packet_life_time = source == destination ? std::uint8_t{0} : view_.options.ports.subnet_timeout;
    const bool is_good = choose_limits(record) && choose_partition(source, destination, record) &&
                         choose_service_level(path->service_levels, record);
    return is_good ? std::optional(record) : std::nullopt;
  }

  bool choose_limits(PathRecord& record) const {
    const PathRecord& wanted = wishes_.record;
    if (wishes_.has(kAsksForMtu)) {
      const auto mtu = choose_number(wanted.mtu_selector, static_cast<std::uint8_t>(wanted.mtu),
                                     static_cast<std::uint8_t>(record.mtu));
      if (!mtu) return false;
      record.mtu = static_cast<mad::Mtu>(*mtu);
    }
    if (wishes_.has(kAsksForRate)) {
      const auto rate = choose_rate(wanted.rate_selector, wanted.rate, record.rate);
      if (!rate) return false;
      record.rate = *rate;
    }
    if (wishes_.has(kAsksForLifeTime)) {
      const auto time =
          choose_number(wanted.packet_life_time_selector, wanted.packet_life_time, record.packet_life_time);
      if (!time) return false;
      record.packet_life_time = *time;
    }
    return true;
  }

  bool choose_partition(EndPortId source, EndPortId destination, PathRecord& record) const {
    const PkeyTable& from = view_.database.p_keys_of(source);
    const PkeyTable& to = view_.database.p_keys_of(destination);
    // Raw packets have none.
    if (wishes_.has(mad::component<PathRecord>("raw_traffic")) && wishes_.record.raw_traffic) {
      record.raw_traffic = true;
      return true;
    }
    if (wishes_.has(mad::component<PathRecord>("p_key"))) {
      record.p_key = wishes_.record.p_key;
      return share_p_key(from, to, record.p_key);
    }
    record.p_key = common_p_key(from, to);
    return record.p_key != 0 || source == destination;
  }

  bool choose_service_level(std::uint16_t possible, PathRecord& record) const {
    record.sl = wishes_.has(mad::component<PathRecord>("sl")) ? wishes_.record.sl
                                                              : finder_.service_level(record.p_key);
    return (possible >> record.sl & 1) != 0;
  }

  const SaView& view_;
  const SaRequest& request_;
  const Wishes& wishes_;
  SaRecords& out_;
  PathFinder finder_;
  std::size_t most_ = std::numeric_limits<std::size_t>::max();
  std::size_t pairs_ = 0;
};

/// The ports that a query means at one end.
struct Ends {
  SaStatus status = SaStatus::ok;
  std::optional<EndPortId> one;       // nothing: all ports
  const wire::Gid* remote = nullptr;  // `one` is the router towards it
};

bool is_local(const SaView& view, const wire::Gid& gid) {
  return gid.is_link_local() || gid.high_half() == view.options.ports.subnet_prefix;
}

EndPortId find_router(const Graph& graph) {
  for (std::uint32_t i = 0; i < graph.end_ports().size(); ++i)
    if (graph.end_ports()[i].type == NodeType::router) return EndPortId(i);
  return kNoEndPort;
}

/// By GID, by LID, or by both, which then are one port's.
Ends find_ends(const SaView& view, const wire::Gid* gid, const Lid* lid, bool may_be_remote) {
  const Graph& graph = view.database.graph();
  Ends ends;
  if (gid != nullptr) {
    EndPortId id = kNoEndPort;
    if (is_local(view, *gid)) {
      id = graph.find_end_port(Guid(gid->low_half()));
    } else if (may_be_remote) {
      id = find_router(graph);
      ends.remote = gid;
    }
    if (id == kNoEndPort) return {SaStatus::invalid_gid, {}, nullptr};
    ends.one = id;
  }
  if (lid != nullptr) {
    const EndPortId id = graph.owner_of(*lid);
    if (id == kNoEndPort || (ends.one && *ends.one != id)) return {SaStatus::no_records, {}, nullptr};
    ends.one = id;
  }
  return ends;
}

void add_all(const SaView& view, PathQuery& query, const Ends& from, const Ends& to) {
  const auto ports = static_cast<std::uint32_t>(view.database.graph().end_ports().size());
  const auto end = [&](const Ends& ends) { return ends.one ? ends.one->value + 1 : ports; };
  const auto begin = [](const Ends& ends) { return ends.one ? ends.one->value : 0; };
  for (std::uint32_t d = begin(to); d < end(to); ++d) {
    for (std::uint32_t s = begin(from); s < end(from); ++s) {
      if (query.is_satisfied() || query.is_exhausted()) return;
      query.add_pair(EndPortId(s), EndPortId(d), to.remote);
    }
  }
}

/// The way to a multicast group is the group's own (IBTA 15.2.5.16, DGID).
void add_group(const SaView& view, const McGroup& group, const SaRequest& request, const Wishes& wishes,
               SaRecords& out) {
  const EndPortId requester = view.end_port(request.requester);
  if (requester == kNoEndPort || !has_p_key(view.database.p_keys_of(requester), group.record.p_key)) return;
  PathRecord record;
  record.sgid = wishes.record.sgid;
  record.dgid = group.record.mgid;
  record.slid = wishes.record.slid;
  record.dlid = group.record.mlid;
  record.flow_label = group.record.flow_label;
  record.hop_limit = group.record.hop_limit;
  record.traffic_class = group.record.traffic_class;
  record.reversible = true;
  record.p_key = group.record.p_key;
  record.sl = group.record.sl;
  record.mtu_selector = record.rate_selector = record.packet_life_time_selector = Selector::exactly;
  record.mtu = group.record.mtu;
  record.rate = group.record.rate;
  record.packet_life_time = group.record.packet_life_time;
  constexpr std::uint64_t kCompared = mad::component<PathRecord>("dlid") |
                                      mad::component<PathRecord>("p_key") | mad::component<PathRecord>("sl");
  if (mad::matches(wishes.mask & kCompared, wishes.record, record)) out.add(record);
}

const McGroup* find_group(const MulticastGroups& groups, const Wishes& wishes) {
  if (wishes.has(mad::component<PathRecord>("dgid"))) return groups.find(wishes.record.dgid);
  for (const auto& [mgid, group] : groups.all())
    if (group.record.mlid == wishes.record.dlid) return &group;
  return nullptr;
}

bool is_multicast(const Wishes& wishes) {
  if (wishes.has(mad::component<PathRecord>("dgid"))) return wishes.record.dgid.is_multicast();
  return wishes.has(mad::component<PathRecord>("dlid")) && wishes.record.dlid.is_multicast();
}

SaStatus status_of(const PathQuery& query) {
  return query.is_exhausted() ? SaStatus::no_resources : SaStatus::ok;
}

/// The same wishes as those of a path record.
Wishes wishes_of(const mad::MultiPathRecord& query, std::uint64_t mask) {
  using M = mad::MultiPathRecord;
  Wishes wishes;
  const auto carry = [&](std::uint64_t from, std::uint64_t to) {
    if ((mask & from) == from) wishes.mask |= to;
  };
  PathRecord& record = wishes.record;
  record.raw_traffic = query.raw_traffic;
  record.reversible = query.reversible;
  record.p_key = query.p_key;
  record.sl = query.sl;
  record.mtu_selector = query.mtu_selector;
  record.mtu = query.mtu;
  record.rate_selector = query.rate_selector;
  record.rate = query.rate;
  record.packet_life_time_selector = query.packet_life_time_selector;
  record.packet_life_time = query.packet_life_time;
  record.num_paths = query.num_paths;
  carry(mad::component<M>("raw_traffic"), mad::component<PathRecord>("raw_traffic"));
  carry(mad::component<M>("reversible"), mad::component<PathRecord>("reversible"));
  carry(mad::component<M>("num_paths"), mad::component<PathRecord>("num_paths"));
  carry(mad::component<M>("p_key"), mad::component<PathRecord>("p_key"));
  carry(mad::component<M>("sl"), mad::component<PathRecord>("sl"));
  carry(mad::component<M>("mtu") | mad::component<M>("mtu_selector"), kAsksForMtu);
  carry(mad::component<M>("rate") | mad::component<M>("rate_selector"), kAsksForRate);
  carry(mad::component<M>("packet_life_time") | mad::component<M>("packet_life_time_selector"),
        kAsksForLifeTime);
  return wishes;
}

}  // namespace

SaStatus query_paths(const SaView& view, const MulticastGroups& groups, const SaRequest& request,
                     SaRecords& out) {
  const Wishes wishes{request.sa.component_mask, request.record<PathRecord>()};
  const auto gid_if = [&](std::uint64_t component, const wire::Gid& gid) {
    return wishes.has(component) ? &gid : nullptr;
  };
  const auto lid_if = [&](std::uint64_t component, const Lid& lid) {
    return wishes.has(component) ? &lid : nullptr;
  };
  const Ends from = find_ends(view, gid_if(mad::component<PathRecord>("sgid"), wishes.record.sgid),
                              lid_if(mad::component<PathRecord>("slid"), wishes.record.slid), false);
  if (from.status != SaStatus::ok) return from.status;
  if (is_multicast(wishes)) {
    const McGroup* const group = find_group(groups, wishes);
    if (group != nullptr) add_group(view, *group, request, wishes, out);
    return SaStatus::ok;
  }
  const Ends to = find_ends(view, gid_if(mad::component<PathRecord>("dgid"), wishes.record.dgid),
                            lid_if(mad::component<PathRecord>("dlid"), wishes.record.dlid), true);
  if (to.status != SaStatus::ok) return to.status;
  PathQuery query(view, request, wishes, out);
  add_all(view, query, from, to);
  return status_of(query);
}

SaStatus query_multi_path(const SaView& view, const SaRequest& request, SaRecords& out) {
  const auto asked = request.record<mad::MultiPathRecord>();
  const std::size_t gids = std::size_t{asked.sgid_count} + asked.dgid_count;
  if (asked.sgid_count == 0 || asked.dgid_count == 0) return SaStatus::insufficient_components;
  if (gids > mad::MultiPathRecord::kMostGids) return SaStatus::invalid_request;
  std::vector<EndPortId> ends;
  for (std::size_t i = 0; i < gids; ++i) {
    const Ends end = find_ends(view, &asked.gids[i], nullptr, false);
    if (end.status != SaStatus::ok) return end.status;
    ends.push_back(*end.one);
  }
  const Wishes wishes = wishes_of(asked, request.sa.component_mask);
  PathQuery query(view, request, wishes, out);
  for (std::size_t s = 0; s < asked.sgid_count; ++s)
    for (std::size_t d = asked.sgid_count; d < gids; ++d) query.add_pair(ends[s], ends[d]);
  return status_of(query);
}

}  // namespace softrnic::subnet
