#include "subnet/administrator.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "mad/class_port_info.h"
#include "mad/inform_info.h"
#include "subnet/sa_multicast.h"
#include "subnet/sa_node_records.h"
#include "subnet/sa_path_records.h"
#include "subnet/sa_table_records.h"

namespace softrnic::subnet {
namespace {

using mad::Method;
using mad::SaStatus;

/// Of CapabilityMask2: groups may be made by members that only send (IBTA 15.2.3; Linux asks for it).
constexpr std::uint32_t kSendOnlyFullMember2 = 1U << 12;
constexpr std::uint8_t kResponseTime = 18;  ///< 4.096 µs · 2^18: about a second

/// Methods whose answers may be longer than a datagram (IBTA 15.2.2).
bool is_table(Method method) {
  return method == Method::get_table || method == Method::get_trace_table || method == Method::get_multi;
}
/// What has an answer. Two administrators that answered Send or TrapRepress would do so for ever.
bool is_request(Method method) { return mad::response_to(method) != method; }

}  // namespace

// Which function answers requests of that attribute and method.
struct Administrator::Handler {
  std::uint16_t attribute;
  Method method;  ///< get: GetTable too
  SaStatus (*answer)(Administrator& sa, const SaRequest& request, TimePoint now, SaRecords& out);
  bool is_for_trusted = false;
};

/// Functions that answer from the view, or from that and the groups, as handlers.
template <auto function>
SaStatus Administrator::by(Administrator& sa, const SaRequest& request, TimePoint, SaRecords& out) {
  const auto call = [&] {
    if constexpr (std::is_invocable_v<decltype(function), const SaView&, const SaRequest&, SaRecords&>) {
      return function(sa.view_, request, out);
    } else {
      return function(sa.view_, sa.groups_, request, out);
    }
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return SaStatus::ok;
  } else {
    return call();
  }
}

const Administrator::Handler Administrator::kHandlers[] = {
    {mad::NodeRecord::kAttribute, Method::get, by<query_nodes>},
    {mad::PortInfoRecord::kAttribute, Method::get, by<query_ports>},
    {mad::SwitchInfoRecord::kAttribute, Method::get, by<query_switches>},
    {mad::GuidInfoRecord::kAttribute, Method::get, by<query_guids>},
    {mad::LinkRecord::kAttribute, Method::get, by<query_links>},
    {mad::SlToVlMappingTableRecord::kAttribute, Method::get, by<query_sl_to_vl>},
    {mad::LinearForwardingTableRecord::kAttribute, Method::get, by<query_linear_tables>},
    {mad::MulticastForwardingTableRecord::kAttribute, Method::get, by<query_multicast_tables>},
    {mad::PKeyTableRecord::kAttribute, Method::get, by<query_p_keys>, true},
    {mad::VlArbitrationTableRecord::kAttribute, Method::get, by<query_arbitration>},
    {mad::PathRecord::kAttribute, Method::get, by<query_paths>},
    {mad::MultiPathRecord::kAttribute, Method::get_multi, by<query_multi_path>},
    {mad::McMemberRecord::kAttribute, Method::get, by<query_groups>},
    {mad::McMemberRecord::kAttribute, Method::set, by<join_group>},
    {mad::McMemberRecord::kAttribute, Method::delete_record, by<leave_group>},
    {mad::ClassPortInfo::kAttribute, Method::get,
     [](Administrator& sa, const SaRequest& request, TimePoint, SaRecords& out) {
       return sa.query_class_info(request, out);
     }},
    {mad::SmInfoRecord::kAttribute, Method::get,
     [](Administrator& sa, const SaRequest& request, TimePoint, SaRecords& out) {
       query_managers(sa.view_, request, sa.own_, out);
       return SaStatus::ok;
     }},
    {mad::ServiceRecord::kAttribute, Method::get,
     [](Administrator& sa, const SaRequest& request, TimePoint now, SaRecords& out) {
       sa.services_.query(sa.view_, request, now, out);
       return SaStatus::ok;
     }},
    {mad::ServiceRecord::kAttribute, Method::set,
     [](Administrator& sa, const SaRequest& request, TimePoint now, SaRecords& out) {
       return sa.services_.set(sa.view_, request, now, out);
     }},
    {mad::ServiceRecord::kAttribute, Method::delete_record,
     [](Administrator& sa, const SaRequest& request, TimePoint, SaRecords& out) {
       return sa.services_.remove(sa.view_, request, out);
     }},
    {mad::InformInfo::kAttribute, Method::set,
     [](Administrator& sa, const SaRequest& request, TimePoint, SaRecords& out) {
       return sa.subscriptions_.set(sa.view_, request, out);
     }},
    {mad::InformInfoRecord::kAttribute, Method::get,
     [](Administrator& sa, const SaRequest& request, TimePoint, SaRecords& out) {
       sa.subscriptions_.query(sa.view_, request, out);
       return SaStatus::ok;
     }},
};

void Administrator::receive(const DatagramAddress& from, const mad::Mad& mad, const mad::SmInfo& own,
                            TimePoint now) {
  const auto header = mad::parse_header(mad);
  if (!header) return;
  if (header->method == Method::report_response) return subscriptions_.confirm(from, header->transaction);
  own_ = own;
  Bytes message = mad;
  std::optional<std::vector<std::byte>> whole;
  if (mad::decode_rmpp(mad).active) {
    whole = transfers_.receive(from, mad, now);
    if (!whole) return;
    message = *whole;
  }
  if (!is_request(header->method)) return;
  SaRequest request;
  request.from = from;
  request.header = *header;
  request.sa = mad::decode<mad::SaHeader>(message.subspan(mad::kSaHeaderOffset));
  const Bytes data = message.subspan(std::min(message.size(), mad::kSaDataOffset));
  std::copy_n(data.begin(), std::min(data.size(), request.data.size()), request.data.begin());
  request.requester = view_.database.port_of(from.lid);
  // C15-0.1.5: a wrong key is not answered, and neither is who is not of this subnet.
  const bool has_wrong_key = request.sa.sm_key != 0 && request.sa.sm_key != view_.options.sa_key;
  if (has_wrong_key || request.requester.node == kNoNode) return;
  request.is_trusted = request.sa.sm_key != 0;
  answer(request, now);
}

void Administrator::answer(const SaRequest& request, TimePoint now) {
  // A request that comes again, while its answer is on the way.
  if (transfers_.is_sending(request.from, request.header.transaction)) return;
  if (request.header.class_version != mad::kSaClassVersion)
    return refuse(request, static_cast<std::uint16_t>(mad::Status::bad_version));
  const Method method = request.header.method == Method::get_table ? Method::get : request.header.method;
  const auto* const handler = std::ranges::find_if(kHandlers, [&](const Handler& candidate) {
    return candidate.attribute == request.header.attribute && candidate.method == method;
  });
  if (handler == std::end(kHandlers))
    return refuse(request, static_cast<std::uint16_t>(mad::Status::bad_method_attribute));
  if (handler->is_for_trusted && !request.is_trusted)
    return refuse(request, mad::status_of(SaStatus::invalid_request));
  SaRecords records;
  SaStatus status = handler->answer(*this, request, now, records);
  if (status == SaStatus::ok && records.is_full()) status = SaStatus::no_resources;
  if (status != SaStatus::ok) return refuse(request, mad::status_of(status));
  respond(request, records, now);
  tell_lives(now);
}

/// C15-0.1.30: one record answers a Get, no more and no less.
void Administrator::respond(const SaRequest& request, const SaRecords& records, TimePoint now) {
  if (!is_table(request.header.method) && records.count() != 1)
    return refuse(request,
                  mad::status_of(records.count() == 0 ? SaStatus::no_records : SaStatus::too_many_records));
  send_answer(request, 0, records, now);
}

void Administrator::refuse(const SaRequest& request, std::uint16_t status) {
  send_answer(request, status, {}, TimePoint{});
}

void Administrator::send_answer(const SaRequest& request, std::uint16_t status, const SaRecords& records,
                                TimePoint now) {
  mad::Header header = request.header;
  header.method = mad::response_to(header.method);
  header.status = status;
  // o15-0.2.7: what was asked for by a MultiPathRecord are path records.
  if (header.attribute == mad::MultiPathRecord::kAttribute) header.attribute = mad::PathRecord::kAttribute;
  mad::SaHeader sa = request.sa;
  sa.sm_key = 0;  // C15-0.1.5
  sa.attribute_offset = records.attribute_offset();

  const bool is_whole_table = status == 0 && is_table(request.header.method);
  std::vector<std::byte> message(mad::kSaDataOffset + (is_whole_table ? records.bytes().size() : 0));
  mad::encode_header(header, message);
  mad::encode(sa, std::span(message).subspan(mad::kSaHeaderOffset));
  if (is_whole_table) {
    std::ranges::copy(records.bytes(), message.begin() + mad::kSaDataOffset);
    if (!transfers_.send(request.from, header.transaction, std::move(message), now))
      refuse(request, static_cast<std::uint16_t>(mad::Status::busy));
    return;
  }
  mad::Mad mad{};
  std::ranges::copy(message, mad.begin());
  // What was refused is told with the request.
  const Bytes data = status == 0 ? records.bytes() : Bytes(request.data);
  std::copy_n(data.begin(), std::min(data.size(), mad::kSaDataBytes), mad.begin() + mad::kSaDataOffset);
  port_.send(request.from, mad);
}

SaStatus Administrator::query_class_info(const SaRequest& request, SaRecords& out) const {
  if (!request.is_get()) return SaStatus::invalid_request;
  namespace capability = mad::sa_capability;
  mad::ClassPortInfo info;
  info.class_version = mad::kSaClassVersion;
  info.response_time = kResponseTime;
  info.capability_mask =
      capability::kUdMulticast | capability::kMultiPath | capability::kPortInfoCapabilityMaskMatch;
  info.capability_mask2 = capability::kFullPortInfoRecord2 | capability::kExtendedSpeeds2 |
                          capability::kPortInfoCapabilityMask2Match2 | kSendOnlyFullMember2;
  if (view_.options.qos) info.capability_mask2 |= capability::kQos2;
  info.redirect_qpn = mad::kGsiQpn;
  info.redirect_qkey = info.trap_qkey = mad::kGsiQkey;
  out.add(info);
  return SaStatus::ok;
}

mad::Notice Administrator::notice_of(mad::Trap trap, const wire::Gid& gid) const {
  mad::Notice notice;
  notice.type = mad::NoticeType::subnet_management;
  notice.producer_type = mad::kProducerClassManager;
  notice.trap_number = static_cast<std::uint16_t>(trap);
  notice.issuer_lid = view_.database.self_lid();
  const EndPortId self = view_.database.self;
  const Guid guid = self == kNoEndPort ? Guid{} : view_.database.graph().at(self).guid;
  notice.issuer_gid = mad::gid_of(view_.options.ports.subnet_prefix, guid);
  notice.set_details(mad::GidDetails{.gid = gid});
  return notice;
}

void Administrator::tell_lives(TimePoint now) {
  const MulticastGroups::Lives lives = groups_.take_lives();
  for (const mad::McMemberRecord& group : lives.created) {
    events_.notify(event::GroupCreated{group.mgid, group.mlid});
    subscriptions_.report(view_, notice_of(mad::Trap::multicast_group_created, group.mgid), group.p_key, now);
  }
  for (const mad::McMemberRecord& group : lives.deleted) {
    events_.notify(event::GroupDeleted{group.mgid, group.mlid});
    subscriptions_.report(view_, notice_of(mad::Trap::multicast_group_deleted, group.mgid), group.p_key, now);
  }
}

void Administrator::subnet_changed(TimePoint now) {
  std::set<Guid> ports;
  for (const EndPort& port : view_.database.graph().end_ports()) ports.insert(port.guid);
  std::swap(ports, known_ports_);
  subscriptions_.keep_only(view_.database.graph());
  const auto tell = [&](mad::Trap trap, Guid port) {
    const wire::Gid gid = mad::gid_of(view_.options.ports.subnet_prefix, port);
    subscriptions_.report(view_, notice_of(trap, gid), 0, now);
  };
  if (std::exchange(knows_ports_, true)) {
    for (const Guid port : known_ports_)
      if (!ports.contains(port)) tell(mad::Trap::gid_in_service, port);
    for (const Guid port : ports)
      if (!known_ports_.contains(port)) tell(mad::Trap::gid_out_of_service, port);
  }
  tell_lives(now);
}

void Administrator::report(const mad::Notice& notice, TimePoint now) {
  subscriptions_.report(view_, notice, 0, now);
}

void Administrator::forget() {
  services_.clear();
  subscriptions_.clear();
  transfers_.clear();
  known_ports_.clear();
  knows_ports_ = false;
}

void Administrator::advance(TimePoint now) {
  services_.expire(now);
  subscriptions_.advance(now);
  transfers_.advance(now);
}

TimePoint Administrator::deadline() const {
  return std::min({services_.deadline(), subscriptions_.deadline(), transfers_.deadline()});
}

}  // namespace softrnic::subnet
