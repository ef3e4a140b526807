#include "daemon/mad_service.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/reason_id.h"
#include "control/channel.h"

namespace softrnic::daemon {

using namespace control;

namespace {

constexpr std::uint64_t kIssm = 0;  ///< epoll key of the issm files; open ports have their number

mad::PortRules rules_of(const MadPort& port) { return {.has_qp0 = port.has_qp0(), .lmc = port.lmc}; }

/// EACCES: neither this process's user nor root.
Expected<void, Failure> check_user(const Connection& from) {
  const uid_t user = from.credentials.user();
  if (user == geteuid() || user == 0) return {};
  return Unexpected{refuse(EACCES, ReasonId::mad_not_allowed, user, geteuid())};
}

}  // namespace

/// A port with its agents.
class MadService::Port final : private mad::AgentHost {
 public:
  Port(MadService& service, MadPortName port_name, mad::AgentIds& ids, mad::PortRules rules)
      : name(std::move(port_name)), agents(*this, ids, rules), service_(service) {}

  const MadPortName name;
  mad::Agents agents;
  std::map<mad::OpenId, MadPortNumber> opened;

 private:
  void send(mad::Queue queue, const mad::Peer& to, Bytes mad) override {
    service_.ports_.send(name, queue, to, mad);
  }
  void received(mad::OpenId open) override {
    const MadPortNumber number = opened.at(open);
    service_.pump(number, service_.opened_.at(number));
  }
  void explain(const Reason& reason) override { softrnic::explain({.reason = reason}); }

  MadService& service_;
};

const DispatchRow<MadService> MadService::kRows[] = {
    dispatch_row<&MadService::list_cas>(),         dispatch_row<&MadService::query_ca>(),
    dispatch_row<&MadService::issm_path>(),        dispatch_row<&MadService::open_port>(),
    dispatch_row<&MadService::close_port>(),       dispatch_row<&MadService::register_agent>(),
    dispatch_row<&MadService::unregister_agent>(), dispatch_row<&MadService::send>(),
};

MadService::MadService(MadPorts& ports) : ports_(ports), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
MadService::~MadService() = default;

std::optional<Answer> MadService::handle(Connection& from, Bytes datagram, UniqueFd& fd) {
  return dispatch<MadService>(kRows, *this, from, datagram, fd);
}

// ---- the devices

std::optional<MadCa> MadService::find_ca(std::string_view name) const {
  for (MadCa& ca : ports_.cas())
    if (ca.name == name) return std::move(ca);
  return std::nullopt;
}

Expected<MadPortName, Failure> MadService::find_port(std::string_view name, std::uint32_t number) const {
  const auto ca = find_ca(name);
  if (ca && ca->port(number) != nullptr) return MadPortName{ca->name, number};
  return Unexpected{refuse(ca ? EINVAL : ENODEV, ReasonId::mad_no_port, number)};
}

Answer MadService::list_cas(Connection&, const MadListCas& message, UniqueFd) {
  auto reply = make_message<MadCasReply>(message.header.serial);
  for (const MadCa& ca : ports_.cas())
    if (reply.count < kMaxDevices) put_text(reply.names[reply.count++], ca.name);
  return answer_with(reply);
}

Answer MadService::query_ca(Connection&, const MadQueryCa& message, UniqueFd) {
  const auto ca = find_ca(text_in(message.ca).value_or(""));
  if (!ca) return refused(message, refuse(ENODEV, ReasonId::mad_no_port, message.port));
  auto reply = make_message<MadCaReply>(message.header.serial);
  reply.ca = to_record(*ca);
  return answer_with(reply);
}

Answer MadService::issm_path(Connection&, const MadIssmPath& message, UniqueFd) {
  const auto name = find_port(text_in(message.ca).value_or(""), message.port);
  if (!name) return refused(message, name.error());
  watch_issm();
  auto reply = make_message<MadPathReply>(message.header.serial);
  if (issm_) put_text(reply.path, issm_->path_of(*name));
  return answer_with(reply);
}

// Made when it is first asked for: most ports have no subnet manager.
void MadService::watch_issm() {
  const auto cas = ports_.cas();
  for (const MadCa& ca : cas) {
    for (const MadPort& port : ca.ports) {
      if (!port.has_qp0()) continue;
      if (!issm_) {
        issm_ = std::make_unique<IssmWatch>(
            [this](const MadPortName& name, bool is_sm) { ports_.set_is_sm(name, is_sm); });
        epoll_event event{.events = EPOLLIN, .data = {.u64 = kIssm}};
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, issm_->readable_fd(), &event);
      }
      issm_->add({ca.name, port.number});
    }
  }
}

MadService::Port& MadService::port_of(const MadPortName& name) {
  auto& port = by_name_[name];
  if (!port) {
    const auto ca = find_ca(name.ca);
    const MadPort* const known = ca ? ca->port(name.port) : nullptr;
    port = std::make_unique<Port>(*this, name, ids_, known != nullptr ? rules_of(*known) : mad::PortRules{});
  }
  return *port;
}

void MadService::ports_changed() {
  const auto cas = ports_.cas();
  const auto find = [&cas](const MadPortName& name) -> const MadPort* {
    const auto ca = std::find_if(cas.begin(), cas.end(), [&](const MadCa& c) { return c.name == name.ca; });
    return ca == cas.end() ? nullptr : ca->port(name.port);
  };
  for (auto it = opened_.begin(); it != opened_.end();) {
    const auto [number, opened] = std::pair(it->first, &(it->second));
    ++it;
    if (find(opened->port->name) == nullptr) close(number);
  }
  for (auto it = by_name_.begin(); it != by_name_.end();) {
    const MadPort* const known = find(it->first);
    if (known != nullptr) it->second->agents.set_rules(rules_of(*known));
    if (known == nullptr && issm_) issm_->remove(it->first);
    it = known == nullptr ? by_name_.erase(it) : std::next(it);
  }
}

// ---- open ports

MadService::Opened* MadService::find_open(const Connection& from, MadPortNumber number) {
  const auto found = opened_.find(number);
  return found == opened_.end() || found->second.owner != &from ? nullptr : &found->second;
}

Answer MadService::open_port(Connection& from, const MadOpenPort& message, UniqueFd) {
  if (auto may = check_user(from); !may) return refused(message, may.error());
  const auto name = find_port(text_in(message.ca).value_or(""), message.port);
  if (!name) return refused(message, name.error());
  if (opened_.size() >= kMostOpenPorts)
    return refused(message, refuse(EMFILE, ReasonId::mad_port_limit, kMostOpenPorts));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return refused(message, refuse(errno, ReasonId::out_of_fds, errno));
  auto reply = make_message<MadPortReply>(message.header.serial);
  reply.port = add(from, *name, UniqueFd(ends[0]));
  Answer answer = answer_with(reply, ends[1]);
  answer.own_fd.reset(ends[1]);
  return answer;
}

MadPortNumber MadService::add(const Connection& owner, const MadPortName& name, UniqueFd socket) {
  do ++last_number_;
  while (last_number_ == 0 || opened_.contains(last_number_));
  Port& port = port_of(name);
  const mad::OpenId id = port.agents.open();
  port.opened[id] = last_number_;
  epoll_event event{.events = EPOLLRDHUP, .data = {.u64 = last_number_}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event);
  opened_[last_number_] = {&owner, std::move(socket), &port, id};
  return last_number_;
}

void MadService::close(MadPortNumber number) {
  const auto found = opened_.find(number);
  if (found == opened_.end()) return;
  Port& port = *found->second.port;
  port.agents.close(found->second.id);
  port.opened.erase(found->second.id);
  opened_.erase(found);
}

Answer MadService::close_port(Connection& from, const MadClosePort& message, UniqueFd) {
  if (find_open(from, message.port) == nullptr)
    return refused(message, refuse(EBADF, ReasonId::mad_no_port, message.port));
  close(message.port);
  return done(message);
}

void MadService::release(Connection& gone) {
  std::vector<MadPortNumber> numbers;
  for (const auto& [number, opened] : opened_)
    if (opened.owner == &gone) numbers.push_back(number);
  for (const MadPortNumber number : numbers) close(number);
}

// ---- agents

Answer MadService::register_agent(Connection& from, const MadRegisterAgent& message, UniqueFd) {
  Opened* const opened = find_open(from, message.port);
  if (opened == nullptr) return refused(message, refuse(EBADF, ReasonId::mad_no_port, message.port));
  const auto wanted = registration_in(message);
  if (!wanted)
    return refused(message, refuse(EINVAL, ReasonId::agent_registration, message.management_class,
                                   message.class_version, message.oui, message.queue));
  const auto agent = opened->port->agents.add_agent(opened->id, *wanted);
  if (!agent) return refused(message, agent.error());
  auto reply = make_message<MadAgentReply>(message.header.serial);
  reply.agent = *agent;
  return answer_with(reply);
}

Answer MadService::unregister_agent(Connection& from, const MadUnregisterAgent& message, UniqueFd) {
  Opened* const opened = find_open(from, message.port);
  if (opened == nullptr) return refused(message, refuse(EBADF, ReasonId::mad_no_port, message.port));
  return done_or_refused(message, opened->port->agents.remove_agent(opened->id, message.agent));
}

Answer MadService::send(Connection& from, const MadSend& message, UniqueFd fd) {
  Opened* const opened = find_open(from, message.port);
  if (opened == nullptr) return refused(message, refuse(EBADF, ReasonId::mad_no_port, message.port));
  const auto whole = message_in(message.body, fd.get());
  if (!whole) return refused(message, refuse(EINVAL, ReasonId::mad_malformed, message.body.length, 0));
  const auto to = ports_.complete(opened->port->name, from_record(message.to));
  if (!to) return refused(message, to.error());
  const mad::Outgoing outgoing{
      .to = *to, .timeout_ms = message.timeout_ms, .retries = message.retries, .message = *whole};
  return done_or_refused(message, opened->port->agents.send(opened->id, message.agent, outgoing, now()));
}

bool MadService::receive(const MadPortName& name, mad::Queue queue, const mad::Peer& from, Bytes mad,
                         bool answers) {
  const auto port = by_name_.find(name);
  const auto receipt = port == by_name_.end() ? mad::Agents::Receipt::unwanted
                                              : port->second->agents.receive(queue, from, mad, now());
  if (receipt != mad::Agents::Receipt::unwanted) return true;
  const auto response = answers ? mad::unwanted_response(mad) : std::nullopt;
  if (response) ports_.send(name, queue, from, *response);
  return false;
}

// ---- sockets and time

void MadService::watch(MadPortNumber number, Opened& opened, bool is_full) {
  opened.is_full = is_full;
  const std::uint32_t room = is_full ? std::uint32_t{EPOLLOUT} : 0;
  epoll_event event{.events = EPOLLRDHUP | room, .data = {.u64 = number}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, opened.socket.get(), &event);
}

// What cannot be put into a memfd, or is one too many that nobody has fetched (ETOOMANYREFS), is lost, as on
// a network that loses. The end of the socket is told by epoll.
void MadService::pump(MadPortNumber number, Opened& opened) {
  mad::Agents& agents = opened.port->agents;
  while (const mad::Received* const received = agents.front(opened.id)) {
    auto message = make_message<MadReceived>();
    message.agent = received->agent;
    message.status = received->timed_out ? ETIMEDOUT : 0;
    message.timeout_ms = received->timeout_ms;
    message.retries = received->retries;
    message.from = control::to_record(received->from);
    const auto fd = put_message(message.body, received->message);
    const int error =
        fd ? send_datagram(opened.socket.get(), bytes_of(message), fd->get(), MSG_DONTWAIT) : fd.error();
    if (error == EAGAIN) {
      if (!opened.is_full) watch(number, opened, true);
      return;
    }
    if (error == EPIPE || error == ECONNRESET) return;
    if (error != 0) softrnic::explain({.reason = because(ReasonId::out_of_fds, error)});
    agents.pop(opened.id);
  }
  if (opened.is_full) watch(number, opened, false);
}

void MadService::sockets_ready() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    if (key == kIssm) {
      issm_->progress(now());
      continue;
    }
    const auto number = static_cast<MadPortNumber>(key);
    const auto found = opened_.find(number);
    if (found == opened_.end()) continue;
    if ((events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
      close(number);
    } else {
      pump(number, found->second);
    }
  }
}

void MadService::advance() {
  for (const auto& [name, port] : by_name_)
    if (port->agents.deadline() <= now()) port->agents.advance(now());
  if (issm_) issm_->advance(now());
}

TimePoint MadService::deadline() const {
  TimePoint earliest = issm_ ? issm_->deadline() : kNever;
  for (const auto& [name, port] : by_name_) earliest = std::min(earliest, port->agents.deadline());
  return earliest;
}

}  // namespace softrnic::daemon
