// Which of several subnet managers is master (IBTA 14.4.1).
#include <algorithm>
#include <iterator>
#include <utility>

#include "mad/notice.h"
#include "subnet/manager.h"

namespace softrnic::subnet {
namespace {

using mad::SmState;
using Control = mad::SmInfo::Control;

bool is_master(SmState state) { return state == SmState::master; }
bool is_candidate(SmState state) { return state == SmState::discovering || state == SmState::standby; }
bool is_master_or_standby(SmState state) { return state == SmState::master || state == SmState::standby; }

bool goes_before(const mad::SmInfo& a, std::uint8_t priority, std::uint64_t guid) {
  return a.priority != priority ? a.priority > priority : a.guid.value < guid;
}

/// What a Set of SMInfo does in each state; anything else is refused.
enum class Action : std::uint8_t {
  nothing,
  sweep_again,
  become_master,
  become_standby,
  discover,
  deactivate
};
struct Transition {
  SmState state;
  Control control;
  Action action;
};
constexpr Transition kTransitions[] = {
    {SmState::discovering, Control::handover, Action::sweep_again},
    {SmState::standby, Control::handover, Action::become_master},
    {SmState::standby, Control::acknowledge, Action::nothing},
    {SmState::standby, Control::disable, Action::deactivate},
    {SmState::standby, Control::discover, Action::discover},
    {SmState::not_active, Control::standby, Action::become_standby},
    {SmState::master, Control::handover, Action::sweep_again},
    {SmState::master, Control::acknowledge, Action::nothing},
};

const Transition* find_transition(SmState state, std::uint32_t control) {
  const auto* const found = std::ranges::find_if(kTransitions, [&](const Transition& transition) {
    return transition.state == state && static_cast<std::uint32_t>(transition.control) == control;
  });
  return found == std::end(kTransitions) ? nullptr : found;
}

/// ACKNOWLEDGE comes from a standby manager, everything else from a master (IBTA 14.4.1).
bool may_send(SmState sender, std::uint32_t control) {
  return sender ==
         (control == static_cast<std::uint32_t>(Control::acknowledge) ? SmState::standby : SmState::master);
}

}  // namespace

void Manager::set_state(SmState state) {
  const SmState before = std::exchange(state_, state);
  if (before != state) events_.notify(event::StateChanged{before, state});
  awaits_handover_ = false;
  if (state == SmState::master) return;
  // Clients register with the next master again.
  is_up_ = false;
  administrator_.forget();
  groups_ = {};
}

/// The whole subnet is found once more, now with the right to reset what switches have noted, and set up
/// anew: whatever an earlier master has sent is not known here.
void Manager::become_master() {
  set_state(SmState::master);
  is_first_ = true;
  configuration_.sent().forget_all();
  begin_heavy_sweep();
}

void Manager::become_standby(Guid master, TimePoint now) {
  abandon_all();
  set_state(SmState::standby);
  polled_ = master;
  polls_missed_ = 0;
  next_poll_ = now + options_.polling_interval;
}

/// Managers that do not know our SM_Key are not of our subnet's (IBTA 14.4).
bool Manager::is_ours(const mad::SmInfo& info) const {
  return options_.sm_key == 0 || info.sm_key == options_.sm_key;
}

bool Manager::goes_before_us(const mad::SmInfo& info) const {
  return goes_before(info, options_.priority, port_guid_.value);
}

const RemoteManager* Manager::first_of(const Subnet& subnet, bool (*counts)(SmState)) const {
  const RemoteManager* first = nullptr;
  for (const RemoteManager& manager : subnet.managers) {
    if (!is_ours(manager.info) || !counts(manager.info.state)) continue;
    if (first == nullptr || goes_before(manager.info, first->info.priority, first->info.guid.value))
      first = &manager;
  }
  return first;
}

void Manager::conclude_discovery(Subnet found, TimePoint now) {
  const RemoteManager* other = first_of(found, is_master);
  if (other == nullptr) other = first_of(found, is_candidate);
  const bool waits = other != nullptr && (is_master(other->info.state) || goes_before_us(other->info));
  const Guid guid(waits ? other->info.guid.value : 0);
  keep(std::move(found));
  if (!waits) return become_master();
  become_standby(guid, now);
}

void Manager::conclude_sweep(Subnet found, TimePoint now) {
  const RemoteManager* const highest = first_of(found, is_master_or_standby);
  if (highest != nullptr && goes_before_us(highest->info)) {
    const RemoteManager to = *highest;
    keep(std::move(found));
    return hand_over(to, now);
  }
  const RemoteManager* const lower = first_of(found, is_master);
  if (lower == nullptr) {
    awaits_handover_ = false;
    return configure(std::move(found));
  }
  // Two subnets became one, and the other's master is to give up its part before anything is configured.
  polled_ = lower->info.guid;
  keep(std::move(found));
  awaits_handover_ = true;
  polls_missed_ = 0;
  next_poll_ = now + options_.polling_interval;
  send_priority_trap();
}

void Manager::hand_over(const RemoteManager& to, TimePoint now) {
  phase_ = Phase::handing_over;
  SmpRequest request = set_smp(database_.subnet.path_to(to.port), own_info(true),
                               static_cast<std::uint32_t>(Control::handover));
  request.m_key = m_key_for(database_.subnet, to.port, options_.ports.m_key);
  requests_.send(request, [this, guid = to.info.guid, now](const SmpResult& result) {
    phase_ = Phase::idle;
    if (result.is_answered()) {
      events_.notify(event::HandedOver{guid});
      return become_standby(guid, now);
    }
    // It is gone, or did not want to: the next sweep tells.
    heavy_wanted_ = true;
  });
}

void Manager::poll(TimePoint now) {
  next_poll_ = now + options_.polling_interval;
  const NodePort port = database_.subnet.find_port(polled_);
  if (port.node == kNoNode || !database_.subnet.at(port).is_known) return miss_poll();
  poll_pending_ = true;
  SmpRequest request = get_smp<mad::SmInfo>(database_.subnet.path_to(port));
  request.m_key = m_key_for(database_.subnet, port, options_.ports.m_key);
  requests_.send(request, [this](const SmpResult& result) {
    poll_pending_ = false;
    take_poll(result);
  });
}

void Manager::take_poll(const SmpResult& result) {
  const auto info = result.as<mad::SmInfo>();
  const bool is_it = result.is_answered() && info.guid.value == polled_.value && is_ours(info);
  const bool is_alive =
      is_it && (is_master(info.state) || (info.state == SmState::standby && goes_before_us(info)));
  if (!is_alive) return miss_poll();
  polls_missed_ = 0;
  if (is_master(info.state) && !goes_before_us(info)) send_priority_trap();
  if (state_ == SmState::master && goes_before_us(info)) heavy_wanted_ = true;
}

void Manager::miss_poll() {
  if (++polls_missed_ <= options_.polling_retries) return;
  if (state_ == SmState::standby) set_state(SmState::discovering);
  awaits_handover_ = false;
  heavy_wanted_ = true;
}

/// Whoever is master but should not be hears that there is one with a higher priority (IBTA 14.2.5.1, trap
/// 144).
void Manager::send_priority_trap() {
  const NodePort self = database_.subnet.self;
  if (self.node == kNoNode) return;
  const mad::PortInfo& info = database_.subnet.at(self).info;
  const NodePort other = database_.subnet.find_port(polled_);
  if (info.lid.is_reserved() || other.node == kNoNode) return;
  mad::Notice notice;
  notice.type = mad::NoticeType::informational;
  notice.producer_type = static_cast<std::uint32_t>(database_.subnet.at(self.node).info.node_type);
  notice.trap_number = static_cast<std::uint16_t>(mad::Trap::local_changes);
  notice.issuer_lid = info.lid;
  mad::LocalChangesDetails details{.lid = info.lid, .capability_mask = info.capability_mask};
  details.other_local_changes = true;
  details.sm_priority_change = true;
  notice.set_details(details);

  mad::Smp trap;
  trap.method = mad::Method::trap;
  trap.attribute = mad::Notice::kAttribute;
  mad::encode(notice, trap.data);
  port_.send({.lid = database_.subnet.at(database_.subnet.management_port(other)).info.lid},
             mad::encoded(trap));
}

mad::SmInfo Manager::own_info(bool with_key) const {
  mad::SmInfo info;
  info.guid = port_guid_;
  info.sm_key = with_key ? options_.sm_key : 0;
  info.activity_count = static_cast<std::uint32_t>(requests_.counters().requests);
  info.priority = options_.priority;
  info.state = state_;
  return info;
}

/// HANDOVER is confirmed by the new master (IBTA 14.4.1). Nothing depends on the answer, and opensm, which
/// does not wait for it, refuses it.
void Manager::acknowledge(Guid former_master) {
  const NodePort port = database_.subnet.find_port(former_master);
  if (port.node == kNoNode || !database_.subnet.at(port).is_known) return;
  mad::SmInfo info = own_info(true);
  info.state = SmState::standby;  // as it was when it was told
  SmpRequest request =
      set_smp(database_.subnet.path_to(port), info, static_cast<std::uint32_t>(Control::acknowledge));
  request.m_key = m_key_for(database_.subnet, port, options_.ports.m_key);
  requests_.send(request, [](const SmpResult&) {});
}

/// The SM_Key is for those alone who know the M_Key.
void Manager::answer_sm_info(const DatagramAddress& from, const mad::Smp& smp, TimePoint now) {
  const bool is_set = smp.method == mad::Method::set;
  mad::Smp answer = smp;
  answer.data = {};
  mad::encode(own_info(smp.m_key == options_.ports.m_key), answer.data);
  const std::uint16_t status = is_set ? control(smp, now) : std::uint16_t{0};
  respond(from, answer, mad::Method::get_response, status);
}

std::uint16_t Manager::control(const mad::Smp& smp, TimePoint now) {
  const auto info = mad::decode<mad::SmInfo>(smp.data);
  const Transition* const transition = find_transition(state_, smp.modifier);
  if (transition == nullptr || !is_ours(info) || !may_send(info.state, smp.modifier))
    return static_cast<std::uint16_t>(mad::Status::bad_attribute_value);
  switch (transition->action) {
    case Action::nothing:
      break;
    case Action::sweep_again:
      awaits_handover_ = false;
      heavy_wanted_ = true;
      break;
    case Action::become_master:
      become_master();
      acknowledge(info.guid);
      break;
    case Action::become_standby:
      become_standby(info.guid, now);
      break;
    case Action::discover:
      set_state(SmState::discovering);
      begin_heavy_sweep();
      break;
    case Action::deactivate:
      abandon_all();
      set_state(SmState::not_active);
      break;
  }
  return 0;
}

}  // namespace softrnic::subnet
