// Management datagrams as the daemon's clients reach them: their messages (control/mad_messages.h) become
// calls of the agents of a port, and what agents receive goes to the sockets of open ports. What a client has
// opened ends with its connection, or with the socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "control/mad_messages.h"
#include "daemon/answer.h"
#include "daemon/connection.h"
#include "daemon/dispatch.h"
#include "daemon/issm_watch.h"
#include "daemon/mad_ports.h"
#include "mad/agents.h"

namespace softrnic::daemon {

class MadService {
 public:
  static constexpr std::size_t kMostOpenPorts = 512;  ///< of all programs

  /// `ports` outlives this object.
  explicit MadService(MadPorts& ports);
  ~MadService();
  MadService(const MadService&) = delete;
  MadService& operator=(const MadService&) = delete;

  std::function<TimePoint()> now = monotonic_now;

  /// Nothing when the message is not one of management datagrams.
  std::optional<Answer> handle(Connection& from, Bytes datagram, UniqueFd& fd);
  /// The client has gone: its ports are closed.
  void release(Connection& gone);

  /// MadPorts::cas() says something new: ports that are no longer there die.
  void ports_changed();
  /// A datagram of 256 bytes has come to a queue pair of a port. What no agent has registered for is answered
  /// as Linux answers it (mad::unwanted_response), if `answers`. False: no agent has anything to do with it.
  bool receive(const MadPortName& port, mad::Queue queue, const mad::Peer& from, Bytes mad,
               bool answers = true);

  /// Readable when sockets_ready() has something to do; -1: descriptors ran out.
  int sockets_fd() const { return epoll_.get(); }
  void sockets_ready();
  void advance();
  TimePoint deadline() const;
  std::size_t open_ports() const { return opened_.size(); }

 private:
  static const DispatchRow<MadService> kRows[];
  class Port;
  struct Opened {
    const Connection* owner = nullptr;
    UniqueFd socket;
    Port* port = nullptr;
    mad::OpenId id;
    bool is_full = false;  ///< the socket, so that room is waited for
  };

  Answer list_cas(Connection& from, const control::MadListCas& message, UniqueFd fd);
  Answer query_ca(Connection& from, const control::MadQueryCa& message, UniqueFd fd);
  Answer issm_path(Connection& from, const control::MadIssmPath& message, UniqueFd fd);
  Answer open_port(Connection& from, const control::MadOpenPort& message, UniqueFd fd);
  Answer close_port(Connection& from, const control::MadClosePort& message, UniqueFd fd);
  Answer register_agent(Connection& from, const control::MadRegisterAgent& message, UniqueFd fd);
  Answer unregister_agent(Connection& from, const control::MadUnregisterAgent& message, UniqueFd fd);
  Answer send(Connection& from, const control::MadSend& message, UniqueFd fd);

  std::optional<control::MadCa> find_ca(std::string_view name) const;
  /// ENODEV, EINVAL: there is no such port.
  Expected<MadPortName, Failure> find_port(std::string_view ca, std::uint32_t number) const;
  Port& port_of(const MadPortName& name);
  /// The port of that number, where `from` has opened it.
  Opened* find_open(const Connection& from, control::MadPortNumber number);
  control::MadPortNumber add(const Connection& owner, const MadPortName& name, UniqueFd socket);
  void close(control::MadPortNumber number);
  /// Hands on what has been received, as far as the socket takes it.
  void pump(control::MadPortNumber number, Opened& opened);
  void watch(control::MadPortNumber number, Opened& opened, bool is_full);
  void watch_issm();

  MadPorts& ports_;
  UniqueFd epoll_;
  mad::AgentIds ids_;
  std::map<MadPortName, std::unique_ptr<Port>> by_name_;
  std::map<control::MadPortNumber, Opened> opened_;
  std::unique_ptr<IssmWatch> issm_;  ///< made for the first port with QP0
  control::MadPortNumber last_number_ = 0;
};

}  // namespace softrnic::daemon
