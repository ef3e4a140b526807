#include "mad/rmpp_transfers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/reason_id.h"
#include "mad/class_rules.h"

namespace softrnic::mad {
namespace {

using State = RmppSender::State;

/// As Linux has it: an ACK is waited for no longer than a response, and at most two seconds.
Duration ack_timeout(std::uint32_t timeout_ms) {
  constexpr std::uint32_t kMostMs = 2000;
  return std::chrono::milliseconds(timeout_ms == 0 ? kMostMs : std::min(timeout_ms, kMostMs));
}

/// All that a side of a transfer has to say now.
template <typename Side>
std::vector<Mad> datagrams_of(Side& side, TimePoint now) {
  std::vector<Mad> datagrams;
  Mad mad{};
  while (side.next(now, mad)) datagrams.push_back(mad);
  return datagrams;
}

}  // namespace

RmppTransfers::Key RmppTransfers::key_of(AgentId agent, const Header& header, const Peer& peer) {
  return {.agent = agent,
          .transaction = header.transaction,
          .management_class = header.management_class,
          .is_response = is_response(header),
          .has_grh = peer.has_grh,
          .lid = peer.has_grh ? std::uint16_t{0} : peer.lid,
          .gid = peer.has_grh ? peer.gid : wire::Gid{}};
}

// ---- out

void RmppTransfers::send(const Request& request, Bytes message, TimePoint now) {
  std::vector<std::byte> whole(message.begin(), message.end());
  std::copy_n(request.mad.begin(), kHeaderBytes, whole.begin());  // with the agent's transaction
  RmppSending how;
  how.data_offset = rule_of(request.header.management_class).data_offset;
  how.timeout = ack_timeout(request.timeout_ms);
  how.retries = request.retries;
  Sending sending{request, RmppSender(std::move(whole), how)};
  drive(sendings_.emplace(key_of(request), std::move(sending)).first, now);
}

// The host is called at the end, as it may change what there is.
void RmppTransfers::drive(Sendings::iterator sending, TimePoint now) {
  const std::vector<Mad> datagrams = datagrams_of(sending->second.sender, now);
  const Request request = sending->second.request;
  const State state = sending->second.sender.state();
  const RmppStatus status = sending->second.sender.status();
  if (state != State::sending) sendings_.erase(sending);
  for (const Mad& mad : datagrams) host_.send_segment(request.queue, request.to, mad);
  if (state == State::sending) return;
  if (state == State::failed)
    host_.explain_transfer(because(ReasonId::rmpp_failed, request.header.management_class, status));
  host_.message_sent(request, state == State::done, now);
}

// ---- in

bool RmppTransfers::receive(AgentId agent, Queue queue, const Header& header, const Peer& from, Bytes mad,
                            bool may_begin, TimePoint now) {
  const RmppType type = decode_rmpp(mad).type;
  Key key = key_of(agent, header, from);
  // Who answers to segments turns the response bit of their method (13.6.2.1); DATA has its own.
  key.is_response = !key.is_response;
  const auto sending = type == RmppType::data ? sendings_.end() : sendings_.find(key);
  if (sending != sendings_.end()) {
    sending->second.sender.receive(mad, now);
    drive(sending, now);
    return true;
  }
  key.is_response = !key.is_response;
  auto receiving = receivings_.find(key);
  if (receiving == receivings_.end() && type == RmppType::data && may_begin)
    receiving = begin_receiving(key, queue, from);
  if (receiving == receivings_.end()) return false;
  receiving->second.receiver.receive(mad, now);
  drive(receiving, now);
  return true;
}

std::size_t RmppTransfers::receiving_now() const {
  return static_cast<std::size_t>(std::count_if(receivings_.begin(), receivings_.end(), [](const auto& each) {
    return each.second.receiver.state() == RmppReceiver::State::receiving;
  }));
}

void RmppTransfers::forget_the_oldest() {
  auto oldest = receivings_.end();
  for (auto it = receivings_.begin(); it != receivings_.end(); ++it) {
    const RmppReceiver& each = it->second.receiver;
    if (each.state() == RmppReceiver::State::receiving) continue;
    if (oldest == receivings_.end() || each.deadline() < oldest->second.receiver.deadline()) oldest = it;
  }
  if (oldest != receivings_.end()) receivings_.erase(oldest);
}

RmppTransfers::Receivings::iterator RmppTransfers::begin_receiving(const Key& key, Queue queue,
                                                                   const Peer& from) {
  if (receiving_now() >= kMostReceiving) {
    host_.explain_transfer(because(ReasonId::rmpp_limit, kMostReceiving));
    return receivings_.end();
  }
  if (receivings_.size() >= kMostRemembered) forget_the_oldest();
  RmppReceiving how;
  how.data_offset = rule_of(key.management_class).data_offset;
  return receivings_.emplace(key, Receiving{queue, from, RmppReceiver(how)}).first;
}

void RmppTransfers::drive(Receivings::iterator receiving, TimePoint now) {
  RmppReceiver& receiver = receiving->second.receiver;
  const std::vector<Mad> datagrams = datagrams_of(receiver, now);
  const auto [queue, from] = std::pair(receiving->second.queue, receiving->second.from);
  const Key key = receiving->first;
  const bool failed = receiver.state() == RmppReceiver::State::failed;
  const bool tells = failed && !std::exchange(receiving->second.failure_told, true);
  const RmppStatus status = receiver.status();
  std::vector<std::byte> message;
  if (receiver.state() == RmppReceiver::State::done) message = receiver.take_message();
  if (receiver.can_be_forgotten(now)) receivings_.erase(receiving);
  for (const Mad& mad : datagrams) host_.send_segment(queue, from, mad);
  if (tells) host_.explain_transfer(because(ReasonId::rmpp_failed, key.management_class, status));
  if (!message.empty()) host_.message_came(key.agent, from, message, now);
}

void RmppTransfers::forget(AgentId agent, std::uint64_t transaction) {
  auto each = receivings_.lower_bound({.agent = agent, .transaction = transaction});
  while (each != receivings_.end() && each->first.agent == agent && each->first.transaction == transaction) {
    const bool has_ended = each->second.receiver.state() != RmppReceiver::State::receiving;
    each = has_ended && each->first.is_response ? receivings_.erase(each) : std::next(each);
  }
}

// ---- both

void RmppTransfers::remove(AgentId agent) {
  const auto is_of_agent = [agent](const auto& transfer) { return transfer.first.agent == agent; };
  std::erase_if(sendings_, is_of_agent);
  std::erase_if(receivings_, is_of_agent);
}

namespace {

/// The first transfer of a map that is due.
template <typename Transfers, typename DeadlineOf>
auto find_due(Transfers& transfers, TimePoint now, DeadlineOf deadline_of) {
  return std::find_if(transfers.begin(), transfers.end(),
                      [&](const auto& transfer) { return deadline_of(transfer.second) <= now; });
}

}  // namespace

// Each may change the maps.
void RmppTransfers::advance(TimePoint now) {
  const auto sender = [](const Sending& each) { return each.sender.deadline(); };
  const auto receiver = [](const Receiving& each) { return each.receiver.deadline(); };
  for (auto due = find_due(sendings_, now, sender); due != sendings_.end();
       due = find_due(sendings_, now, sender))
    drive(due, now);
  for (auto due = find_due(receivings_, now, receiver); due != receivings_.end();
       due = find_due(receivings_, now, receiver))
    drive(due, now);
}

TimePoint RmppTransfers::deadline() const {
  TimePoint earliest = kNever;
  for (const auto& [key, sending] : sendings_) earliest = std::min(earliest, sending.sender.deadline());
  for (const auto& [key, receiving] : receivings_)
    earliest = std::min(earliest, receiving.receiver.deadline());
  return earliest;
}

}  // namespace softrnic::mad
