// The ports whose QP0 and QP1 programs reach by libibumad: what stands behind MadService. Of a real host they
// are its RoCE devices (roce_mad_ports.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "control/mad_ca.h"
#include "mad/peer.h"

namespace softrnic::daemon {

struct MadPortName {
  std::string ca;
  std::uint32_t port = 0;
  auto operator<=>(const MadPortName&) const = default;
};

class MadPorts {
 public:
  virtual ~MadPorts() = default;

  /// All CAs, in the order in which programs choose one. IsSM is set in the capability mask where set_is_sm()
  /// says so. Names are short enough for umad_ca_t where programs are to find them by it (19 characters).
  virtual std::vector<control::MadCa> cas() const = 0;

  /// The address as the port uses it, and as it will stand in Peers of responses: what may be left out is
  /// filled in. EINVAL: it leads nowhere.
  virtual Expected<mad::Peer, Failure> complete(const MadPortName& port, const mad::Peer& to) const = 0;

  /// A datagram of 256 bytes leaves by a queue pair of the port, to an address of complete(). It may come
  /// back to MadService::receive() before this returns: an SMP whose directed route ends at this port does.
  virtual void send(const MadPortName& port, mad::Queue queue, const mad::Peer& to, Bytes mad) = 0;

  /// A program holds the port's issm file open, or does no longer: the capability bit IsSM (IBTA 14.2.5.6).
  /// Only of ports with QP0.
  virtual void set_is_sm(const MadPortName& port, bool is_sm) = 0;
};

}  // namespace softrnic::daemon
