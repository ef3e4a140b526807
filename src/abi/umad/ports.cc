// umad_open_port, umad_register and their kin.
#include <cstdio>
#include <cstring>

#include "abi/export.h"
#include "abi/umad/calls.h"
#include "abi/umad/choice.h"
#include "abi/umad/process.h"
#include "abi/umad/structures.h"
#include "base/reason_id.h"
#include "mad/class_rules.h"

namespace softrnic::umad {
namespace {

constexpr std::uint32_t kOpenIbOui = 0x001405;
constexpr std::size_t kMaskWords = 16 / sizeof(long);

bool daemon_answers() noexcept {
  return abi::guarded(
             [] { return heard(this_process().ask([](const auto& client) { return client->cas(); })); })
      .has_value();
}

Expected<int, Failure> check_port(const Choice& chosen) {
  const auto ca = find_ca(chosen.ca);
  if (!ca) return Unexpected{ca.error()};
  if (ca->port(static_cast<std::uint32_t>(chosen.port)) != nullptr) return 0;
  return rnic::refused(EINVAL, ReasonId::mad_no_port, chosen.port);
}

Expected<int, Failure> open_port(const Choice& chosen) {
  auto port = std::make_shared<OpenPort>();
  auto grant = heard(this_process().ask([&](const auto& client) {
    port->client = client;
    return client->open_port(chosen.ca, static_cast<std::uint32_t>(chosen.port));
  }));
  if (!grant) return Unexpected{grant.error()};
  port->number = grant->number;
  this_process().add(grant->socket.get(), std::move(port));
  return grant->socket.release();
}

int open_port(const char* ca, int number, bool smi) {
  if (!daemon_answers()) return -EOPNOTSUPP;  // as without the module ib_umad
  Choice chosen;
  if (!choose_into(chosen, ca, number, smi)) return -ENODEV;
  if (value_or(-1, [&] { return check_port(chosen); }) != 0) return -EINVAL;
  return value_or(-EIO, [&] { return open_port(chosen); });
}

Expected<std::shared_ptr<OpenPort>, Failure> find_port(int fd) {
  auto port = this_process().find(fd);
  if (port == nullptr) return rnic::refused(EBADF, ReasonId::mad_no_port, fd);
  return port;
}

std::bitset<128> methods_of(const void* mask) {
  std::uint64_t words[2] = {};
  if (mask != nullptr) std::memcpy(words, mask, sizeof words);
  return std::bitset<128>(words[1]) << 64 | std::bitset<128>(words[0]);
}

Expected<int, Failure> register_agent(int fd, mad::Registration wanted) {
  wanted.queue = mad::is_subnet_management(wanted.management_class) ? mad::Queue::smi : mad::Queue::gsi;
  const auto port = find_port(fd);
  if (!port) return Unexpected{port.error()};
  const auto agent = heard((*port)->client->register_agent((*port)->number, wanted));
  if (!agent) return Unexpected{agent.error()};
  return static_cast<int>(*agent);
}

}  // namespace
}  // namespace softrnic::umad

using namespace softrnic;
using namespace softrnic::umad;

SOFTRNIC_EXPORT int umad_open_port(const char* ca_name, int portnum) {
  return open_port(ca_name, portnum, false);
}

SOFTRNIC_EXPORT int umad_open_smi_port(const char* ca_name, int portnum) {
  return open_port(ca_name, portnum, true);
}

// The daemon is told first: when this returns, the methods of its agents are free.
SOFTRNIC_EXPORT int umad_close_port(int portid) {
  if (const auto port = this_process().remove(portid))
    static_cast<void>(abi::guarded([&] { return heard(port->client->close_port(port->number)); }));
  close(portid);
  return 0;
}

SOFTRNIC_EXPORT int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max) {
  Choice chosen;
  if (!choose_into(chosen, ca_name, portnum)) return -ENODEV;
  return value_or(-EINVAL, [&]() -> Expected<int, Failure> {
    const auto answer = heard(this_process().ask([&](const auto& client) {
      return client->issm_path(chosen.ca, static_cast<std::uint32_t>(chosen.port));
    }));
    if (!answer) return Unexpected{answer.error()};
    if (max > 0) std::snprintf(path, static_cast<std::size_t>(max), "%s", answer->c_str());
    return 0;
  });
}

SOFTRNIC_EXPORT int umad_register(int portid, int mgmt_class, int mgmt_version, std::uint8_t rmpp_version,
                                  long method_mask[kMaskWords]) {
  return value_or(-EPERM, [&] {
    mad::Registration wanted;
    wanted.management_class = static_cast<mad::ManagementClass>(mgmt_class);
    wanted.class_version = static_cast<std::uint8_t>(mgmt_version);
    wanted.oui = kOpenIbOui;
    wanted.methods = methods_of(method_mask);
    wanted.rmpp_version = rmpp_version;
    return register_agent(portid, wanted);
  });
}

SOFTRNIC_EXPORT int umad_register_oui(int portid, int mgmt_class, std::uint8_t rmpp_version,
                                      std::uint8_t oui[3], long method_mask[kMaskWords]) {
  if (mgmt_class < 0 || mgmt_class > UINT8_MAX ||
      !mad::is_vendor_range2(static_cast<mad::ManagementClass>(mgmt_class)))
    return -EINVAL;
  return value_or(-EPERM, [&] {
    mad::Registration wanted;
    wanted.management_class = static_cast<mad::ManagementClass>(mgmt_class);
    wanted.class_version = 1;
    wanted.oui = static_cast<std::uint32_t>(oui[0] << 16 | oui[1] << 8 | oui[2]);
    wanted.methods = methods_of(method_mask);
    wanted.rmpp_version = rmpp_version;
    return register_agent(portid, wanted);
  });
}

/// 0 or a positive errno. Where the registration is refused as it is, no flag is known to be of use.
SOFTRNIC_EXPORT int umad_register2(int port_fd, umad_reg_attr* attr, std::uint32_t* agent_id) {
  if (attr == nullptr || agent_id == nullptr) return EINVAL;
  const int agent = value_or(-1, [&]() -> Expected<int, Failure> {
    mad::Registration wanted;
    wanted.management_class = static_cast<mad::ManagementClass>(attr->mgmt_class);
    wanted.class_version = attr->mgmt_class_version;
    wanted.oui = attr->oui;
    wanted.methods = methods_of(attr->method_mask);
    wanted.rmpp_version = attr->rmpp_version;
    wanted.does_rmpp_itself = (attr->flags & kUserRmpp) != 0;
    if ((attr->flags & ~kUserRmpp) != 0)
      return rnic::refused(EINVAL, ReasonId::agent_registration, attr->mgmt_class, attr->mgmt_class_version,
                           attr->oui, 1);
    return register_agent(port_fd, wanted);
  });
  if (agent >= 0) {
    *agent_id = static_cast<std::uint32_t>(agent);
    return 0;
  }
  if (errno == EINVAL) attr->flags = 0;
  return errno;
}

SOFTRNIC_EXPORT int umad_unregister(int portid, int agentid) {
  return value_or(-1, [&]() -> Expected<int, Failure> {
    const auto port = find_port(portid);
    if (!port) return Unexpected{port.error()};
    const auto done =
        heard((*port)->client->unregister_agent((*port)->number, static_cast<std::uint32_t>(agentid)));
    if (!done) return Unexpected{done.error()};
    return 0;
  });
}
