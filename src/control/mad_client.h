// A process's management datagrams: mad_messages.h with types, over a Client.
//
// Thread-safe. Errors are the daemon's, with the errno of Linux' ib_umad. Where the daemon has died its ports
// are dead (EIO), as when a device is unplugged: they are opened anew by another MadClient.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "control/client.h"
#include "control/mad_ca.h"
#include "control/mad_messages.h"
#include "mad/agents.h"

namespace softrnic::control {

struct MadPortGrant {
  MadPortNumber number = 0;
  UniqueFd socket;  ///< non-blocking; see peek_mad()
};

class MadClient {
 public:
  explicit MadClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  /// The names of all CAs, in the daemon's order.
  Expected<std::vector<std::string>, Error> cas();
  /// ENODEV: there is none with that name.
  Expected<MadCa, Error> ca(const std::string& name);
  Expected<std::string, Error> issm_path(const std::string& ca, std::uint32_t port);

  /// EACCES: this user may not. EINVAL: there is no such port.
  Expected<MadPortGrant, Error> open_port(const std::string& ca, std::uint32_t port);
  Expected<void, Error> close_port(MadPortNumber port);
  /// See mad::Agents for the errors of these.
  Expected<std::uint32_t, Error> register_agent(MadPortNumber port, const mad::Registration& wanted);
  Expected<void, Error> unregister_agent(MadPortNumber port, std::uint32_t agent);
  Expected<void, Error> send(MadPortNumber port, std::uint32_t agent, const mad::Outgoing& outgoing);

  /// Whether `error` says that there is no daemon behind this object any more.
  static bool is_gone(const Error& error);

 private:
  const std::unique_ptr<Client> client_;
};

/// The message that read_mad() gives next, without waiting; it stays there. 0, EAGAIN: there is none, EIO:
/// the port is dead.
int peek_mad(int socket, MadReceived& out);
/// Takes it. EBADMSG: what came is none, and is gone.
int read_mad(int socket, MadReceived& out, std::vector<std::byte>& message);

}  // namespace softrnic::control
