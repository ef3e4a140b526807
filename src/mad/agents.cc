#include "mad/agents.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "mad/class_rules.h"

namespace softrnic::mad {
namespace {

constexpr std::size_t kShortestMessage = 36;  ///< the headers, RMPP's included

/// What QP0 and QP1 take (IBTA 13.5.1; of the connection manager 12.6: all messages are sent, none is got).
bool is_for(Queue queue, const Header& header) {
  if (is_subnet_management(header.management_class)) return queue == Queue::smi;
  if (header.management_class == ManagementClass::communication && header.attribute != kClassPortInfo &&
      header.method != Method::send)
    return false;
  return queue == Queue::gsi;
}

Mad first_datagram(Bytes message) {
  Mad mad{};
  std::copy_n(message.begin(), std::min(message.size(), mad.size()), mad.begin());
  return mad;
}

}  // namespace

// ---- who is there

Agents::~Agents() {
  for (const auto& [id, agent] : agents_) ids_.give_back(id);
}

OpenId Agents::open() {
  do ++last_open_;
  while (last_open_ == 0 || opens_.contains(OpenId(last_open_)));
  opens_.try_emplace(OpenId(last_open_));
  return OpenId(last_open_);
}

void Agents::close(OpenId open) {
  const auto found = opens_.find(open);
  if (found == opens_.end()) return;
  for (const AgentId agent : found->second.agents)
    if (agent != AgentId()) end(agent);
  opens_.erase(found);
}

Expected<std::uint32_t, Failure> Agents::add_agent(OpenId open, const Registration& wanted) {
  const auto opened = opens_.find(open);
  if (opened == opens_.end()) return Unexpected{refuse(EINVAL, ReasonId::agent_unknown, 0)};
  if (wanted.queue == Queue::smi && !rules_.has_qp0)
    return Unexpected{refuse(EPROTONOSUPPORT, ReasonId::agent_no_qp0)};
  if (auto valid = check_registration(wanted); !valid) return Unexpected{valid.error()};
  auto& numbers = opened->second.agents;
  const auto free = std::find(numbers.begin(), numbers.end(), AgentId());
  if (free == numbers.end()) return Unexpected{refuse(ENOMEM, ReasonId::agent_limit, kAgentsOfOpen)};
  const AgentId id = ids_.take();
  if (auto added = table_.add(id, wanted); !added) {
    ids_.give_back(id);
    return Unexpected{added.error()};
  }
  *free = id;
  const auto number = static_cast<std::uint32_t>(free - numbers.begin());
  agents_.emplace(id, Agent{open, number, wanted});
  return number;
}

std::optional<AgentId> Agents::id_of(OpenId open, std::uint32_t number) const {
  const auto opened = opens_.find(open);
  if (opened == opens_.end() || number >= kAgentsOfOpen) return std::nullopt;
  const AgentId id = opened->second.agents[number];
  if (id == AgentId()) return std::nullopt;
  return id;
}

Expected<void, Failure> Agents::remove_agent(OpenId open, std::uint32_t agent) {
  const auto id = id_of(open, agent);
  if (!id) return Unexpected{refuse(EINVAL, ReasonId::agent_unknown, agent)};
  opens_.at(open).agents[agent] = AgentId();
  end(*id);
  return {};
}

void Agents::end(AgentId agent) {
  table_.remove(agent);
  pending_.remove(agent);
  transfers_.remove(agent);
  agents_.erase(agent);
  ids_.give_back(agent);
}

// ---- out

Expected<Request, Failure> Agents::make_request(AgentId id, const Outgoing& outgoing) const {
  const Registration& registration = agents_.at(id).registration;
  Request request;
  request.mad = first_datagram(outgoing.message);
  const auto header = parse_header(request.mad);
  const auto management_class = header ? header->management_class : ManagementClass{};
  const bool fits_agent = registration.rmpp_version == 0 || rule_of(management_class).has_rmpp;
  const bool is_long = header && is_transfer(id, *header, request.mad);
  const std::size_t most = is_long ? kMostBytes : kMadBytes;
  if (!header || !fits_agent || outgoing.message.size() < kShortestMessage || outgoing.message.size() > most)
    return Unexpected{refuse(EINVAL, ReasonId::mad_malformed, outgoing.message.size(), management_class)};
  request.agent = id;
  request.queue = registration.queue;
  request.to = outgoing.to;
  request.header = *header;
  request.timeout_ms = outgoing.timeout_ms;
  request.retries = request.retries_left = outgoing.retries;
  if (is_response(*header)) return request;
  request.header.transaction = (std::uint64_t{id.value} << 32) | (header->transaction & UINT32_MAX);
  encode_header(request.header, request.mad);
  return request;
}

bool Agents::is_transfer(AgentId agent, const Header& header, Bytes mad) const {
  return agents_.at(agent).registration.uses_rmpp() && is_segment(header, mad);
}

Expected<void, Failure> Agents::send(OpenId open, std::uint32_t agent, const Outgoing& outgoing,
                                     TimePoint now) {
  const auto id = id_of(open, agent);
  if (!id) return Unexpected{refuse(EIO, ReasonId::agent_unknown, agent)};
  auto request = make_request(*id, outgoing);
  if (!request) return Unexpected{request.error()};
  if (pending_.has_twin_of(*request) || transfers_.has_twin_of(*request))
    return Unexpected{
        refuse(EINVAL, ReasonId::mad_twin, request->header.transaction, request->header.management_class)};
  if (pending_.count(*id) >= kPendingOfAgent)
    return Unexpected{refuse(ENOMEM, ReasonId::mad_pending_limit, kPendingOfAgent)};
  if (!is_response(request->header)) transfers_.forget(*id, request->header.transaction);
  if (is_transfer(*id, request->header, request->mad)) {
    transfers_.send(*request, outgoing.message, now);
    return {};
  }
  if (request->timeout_ms != 0) pending_.add(*request, now);
  host_.send(request->queue, request->to, request->mad);
  return {};
}

// ---- in

std::optional<AgentId> Agents::find_taker(const Header& header, Bytes mad) const {
  if (!is_response(header)) return table_.find(header, mad);
  const AgentId id(static_cast<std::uint32_t>(header.transaction >> 32));
  if (!agents_.contains(id)) return std::nullopt;
  return id;
}

Agents::Receipt Agents::receive(Queue queue, const Peer& from, Bytes mad, TimePoint now) {
  const auto header = parse_header(mad);
  if (!header || !is_for(queue, *header)) return Receipt::dropped;
  const auto taker = find_taker(*header, mad);
  if (!taker) return Receipt::unwanted;
  if (!is_transfer(*taker, *header, mad)) return complete(*taker, *header, from, mad);
  const bool may_begin = !is_response(*header) || pending_.awaits(*taker, *header, from, rules_.lmc);
  const bool is_part = transfers_.receive(*taker, queue, *header, from, mad, may_begin, now);
  return is_part ? Receipt::taken : Receipt::dropped;
}

// A program that does RMPP itself gets all segments of a response by the one request.
Agents::Receipt Agents::complete(AgentId id, const Header& header, const Peer& from, Bytes message) {
  const Agent& agent = agents_.at(id);
  if (is_response(header) && !pending_.take_answered(id, header, from, rules_.lmc)) {
    const bool later_segment = !agent.registration.uses_rmpp() && is_segment(header, message);
    if (!later_segment) return Receipt::dropped;
  }
  return deliver(agent, from, message);
}

void Agents::message_came(AgentId id, const Peer& from, Bytes message, TimePoint) {
  const auto header = parse_header(first_datagram(message));
  if (header && agents_.contains(id)) static_cast<void>(complete(id, *header, from, message));
}

// From now on its response is waited for; as the request has come, it is not sent again.
void Agents::message_sent(const Request& request, bool is_acknowledged, TimePoint now) {
  if (!agents_.contains(request.agent)) return;
  if (!is_acknowledged) return give_up(request);
  if (request.timeout_ms == 0) return;
  Request waiting = request;
  waiting.retries_left = 0;
  pending_.add(std::move(waiting), now);
}

Agents::Receipt Agents::deliver(const Agent& agent, const Peer& from, Bytes message) {
  const Open& open = opens_.at(agent.open);
  if (open.waiting.size() >= kMostWaiting || open.waiting_bytes + message.size() > kMostWaitingBytes) {
    host_.explain(because(ReasonId::mad_agent_slow, open.waiting.size(), open.waiting_bytes));
    return Receipt::dropped;
  }
  queue(agent.open, {.agent = agent.number, .from = from, .message = {message.begin(), message.end()}});
  return Receipt::taken;
}

void Agents::queue(OpenId id, Received received) {
  Open& open = opens_.at(id);
  open.waiting_bytes += received.message.size();
  open.waiting.push_back(std::move(received));
  if (open.waiting.size() == 1) host_.received(id);
}

const Received* Agents::front(OpenId open) const {
  const auto found = opens_.find(open);
  return found == opens_.end() || found->second.waiting.empty() ? nullptr : &found->second.waiting.front();
}

void Agents::pop(OpenId id) {
  Open& open = opens_.at(id);
  open.waiting_bytes -= open.waiting.front().message.size();
  open.waiting.pop_front();
}

// ---- time

void Agents::advance(TimePoint now) {
  while (const auto due = pending_.next_due(now)) {
    if (due->expired) {
      give_up(due->request);
    } else {
      host_.send(due->request.queue, due->request.to, due->request.mad);
    }
  }
  transfers_.advance(now);
}

// However full the queue is: the program waits for that, and cannot have more of it than requests.
void Agents::give_up(const Request& request) {
  const Agent& agent = agents_.at(request.agent);
  if (!is_response(request.header))
    host_.explain(because(ReasonId::mad_no_answer, request.header.management_class, request.header.attribute,
                          request.timeout_ms, request.retries));
  const Bytes header = Bytes(request.mad).first(kHeaderBytes);
  queue(agent.open, {.agent = agent.number,
                     .from = request.to,
                     .timed_out = true,
                     .timeout_ms = request.timeout_ms,
                     .retries = request.retries,
                     .message = {header.begin(), header.end()}});
}

std::optional<Mad> unwanted_response(Bytes mad) {
  constexpr std::uint16_t kDirection = 0x8000;  // of a directed route: on its way back (14.2.2.1)
  auto header = parse_header(mad);
  if (!header || (header->method != Method::get && header->method != Method::set)) return std::nullopt;
  header->method = Method::get_response;
  header->status = static_cast<std::uint16_t>(Status::bad_method_attribute);
  if (header->management_class == ManagementClass::subnet_directed_route) header->status |= kDirection;
  Mad response = first_datagram(mad);
  encode_header(*header, response);
  return response;
}

}  // namespace softrnic::mad
