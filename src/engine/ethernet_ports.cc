#include "engine/ethernet_ports.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::engine {

EthernetPorts::~EthernetPorts() {
  const int epoll = epoll_.load();
  if (epoll >= 0) close(epoll);
}

EthernetPort* EthernetPorts::find(std::uint32_t interface_index) const {
  for (const auto& port : ports_)
    if (port->interface_index() == interface_index) return port.get();
  return nullptr;
}

Expected<void, Failure> EthernetPorts::use(std::uint32_t interface_index) {
  if (auto permitted = link::PacketSocket::check_permission(); !permitted) return permitted;
  if (epoll_.load() < 0) {
    const int made = above_stdio(epoll_create1(EPOLL_CLOEXEC));
    if (made < 0) return Unexpected{refuse(errno, ReasonId::out_of_fds, errno)};
    epoll_.store(made, std::memory_order_release);
  }
  EthernetPort* port = find(interface_index);
  if (port == nullptr) {
    auto opened = EthernetPort::open(interface_index);
    if (!opened) return Unexpected{opened.error()};
    port = opened->get();
    ports_.push_back(std::move(*opened));
  }
  ++port->users;
  return {};
}

void EthernetPorts::release(std::uint32_t interface_index) {
  EthernetPort* const port = find(interface_index);
  if (port == nullptr || --port->users != 0) return;
  if (port->waits_for_receives()) --waiting_;
  std::erase_if(ports_, [&](const auto& each) { return each.get() == port; });
}

Expected<void, Failure> EthernetPorts::add(rnic::Flow& flow, std::uint32_t interface_index) {
  EthernetPort* const port = find(interface_index);
  if (port == nullptr) return Unexpected{refuse(ENODEV, ReasonId::no_such_device)};
  const bool opens = port->readable_fd() < 0;
  if (auto added = port->add(flow); !added || !opens) return added;
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_.load(), EPOLL_CTL_ADD, port->readable_fd(), &event) == 0) return {};
  const int error = errno;
  port->remove(flow);
  return Unexpected{refuse(error, ReasonId::out_of_fds, error)};
}

void EthernetPorts::remove(const rnic::Flow& flow, std::uint32_t interface_index) {
  EthernetPort* const port = find(interface_index);
  if (port == nullptr) return;
  const bool waited = port->waits_for_receives();
  port->remove(flow);
  if (waited && !port->waits_for_receives()) --waiting_;
}

// The port has begun or ceased to wait.
void EthernetPorts::watch(const EthernetPort& port) {
  epoll_event event{};
  event.events = port.waits_for_receives() ? 0U : static_cast<std::uint32_t>(EPOLLIN);
  waiting_ += port.waits_for_receives() ? 1 : -1;
  static_cast<void>(epoll_ctl(epoll_.load(), EPOLL_CTL_MOD, port.readable_fd(), &event));
}

void EthernetPorts::send(const ib::TxPacket& frame) {
  if (EthernetPort* const port = find(frame.path->interface_index)) port->sender().send(frame);
}

std::uint32_t EthernetPorts::take_drops() {
  std::uint32_t drops = 0;
  for (const auto& port : ports_) drops += port->take_drops();
  return drops;
}

void EthernetPorts::abandon() {
  ports_.clear();
  const int epoll = epoll_.exchange(-1);
  if (epoll >= 0) close(epoll);
}

bool EthernetPorts::readable() const {
  if (waiting()) return true;
  pollfd entry{readable_fd(), POLLIN, 0};
  return entry.fd >= 0 && poll(&entry, 1, 0) > 0;
}

}  // namespace softrnic::engine
