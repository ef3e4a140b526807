#include "control/mad_messages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstring>

#include "control/shared_memory.h"

namespace softrnic::control {
namespace {

MadPortRecord to_record(const MadPort& port) {
  MadPortRecord record;
  record.gid_prefix = port.gid_prefix;
  record.port_guid = port.port_guid;
  record.number = port.number;
  record.rate = port.rate;
  record.capability_mask = port.capability_mask;
  record.lid = port.lid;
  record.sm_lid = port.sm_lid;
  record.lmc = port.lmc;
  record.sm_sl = port.sm_sl;
  record.state = port.state;
  record.physical_state = port.physical_state;
  record.link_layer = port.link_layer;
  record.pkey_count = static_cast<std::uint16_t>(std::min(port.pkeys.size(), kMadMostPkeys));
  std::copy_n(port.pkeys.begin(), record.pkey_count, record.pkeys);
  return record;
}

std::optional<MadPort> from_record(const MadPortRecord& record) {
  if (record.number >= kMadPortsOfCa || record.pkey_count > kMadMostPkeys) return std::nullopt;
  MadPort port;
  port.gid_prefix = record.gid_prefix;
  port.port_guid = record.port_guid;
  port.number = record.number;
  port.rate = record.rate;
  port.capability_mask = record.capability_mask;
  port.lid = record.lid;
  port.sm_lid = record.sm_lid;
  port.lmc = record.lmc;
  port.sm_sl = record.sm_sl;
  port.state = record.state;
  port.physical_state = record.physical_state;
  port.link_layer = record.link_layer;
  port.pkeys.assign(record.pkeys, record.pkeys + record.pkey_count);
  return port;
}

bool write_all(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_all(int fd, MutableBytes bytes) {
  off_t at = 0;
  while (!bytes.empty()) {
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

MadCaRecord to_record(const MadCa& ca) {
  MadCaRecord record;
  record.node_guid = ca.node_guid;
  record.system_guid = ca.system_guid;
  record.node_type = ca.node_type;
  put_text(record.name, ca.name);
  put_text(record.firmware, ca.firmware);
  put_text(record.hardware, ca.hardware);
  put_text(record.type, ca.type);
  record.port_count = static_cast<std::uint32_t>(std::min(ca.ports.size(), kMadPortsOfCa));
  for (std::size_t i = 0; i < record.port_count; ++i) record.ports[i] = to_record(ca.ports[i]);
  return record;
}

std::optional<MadCa> from_record(const MadCaRecord& record) {
  const auto name = text_in(record.name), firmware = text_in(record.firmware);
  const auto hardware = text_in(record.hardware), type = text_in(record.type);
  if (!name || !firmware || !hardware || !type || record.port_count > kMadPortsOfCa) return std::nullopt;
  MadCa ca;
  ca.name = *name;
  ca.firmware = *firmware;
  ca.hardware = *hardware;
  ca.type = *type;
  ca.node_guid = record.node_guid;
  ca.system_guid = record.system_guid;
  ca.node_type = static_cast<std::uint8_t>(record.node_type);
  for (std::size_t i = 0; i < record.port_count; ++i) {
    auto port = from_record(record.ports[i]);
    if (!port || ca.port(port->number) != nullptr) return std::nullopt;
    ca.ports.push_back(std::move(*port));
  }
  return ca;
}

MadAddress to_record(const mad::Peer& peer) {
  MadAddress address;
  std::memcpy(address.gid, peer.gid.raw.data(), sizeof address.gid);
  address.qpn = peer.qpn.value;
  address.qkey = peer.qkey;
  address.flow_label = peer.flow_label;
  address.lid = peer.lid;
  address.pkey_index = peer.pkey_index;
  address.sl = peer.sl;
  address.path_bits = peer.path_bits;
  address.has_grh = peer.has_grh ? 1 : 0;
  address.gid_index = peer.gid_index;
  address.hop_limit = peer.hop_limit;
  address.traffic_class = peer.traffic_class;
  return address;
}

mad::Peer from_record(const MadAddress& address) {
  constexpr std::uint32_t kQpnMask = 0xffffff, kFlowLabelMask = 0xfffff;
  mad::Peer peer;
  std::memcpy(peer.gid.raw.data(), address.gid, sizeof address.gid);
  peer.qpn = Qpn(address.qpn & kQpnMask);
  peer.qkey = address.qkey;
  peer.flow_label = address.flow_label & kFlowLabelMask;
  peer.lid = address.lid;
  peer.pkey_index = address.pkey_index;
  peer.sl = address.sl;
  peer.path_bits = address.path_bits;
  peer.has_grh = address.has_grh != 0;
  peer.gid_index = address.gid_index;
  peer.hop_limit = address.hop_limit;
  peer.traffic_class = address.traffic_class;
  return peer;
}

std::optional<mad::Registration> registration_in(const MadRegisterAgent& message) {
  if (message.queue > static_cast<std::uint8_t>(mad::Queue::gsi)) return std::nullopt;
  mad::Registration wanted;
  wanted.queue = static_cast<mad::Queue>(message.queue);
  wanted.management_class = static_cast<mad::ManagementClass>(message.management_class);
  wanted.class_version = message.class_version;
  wanted.oui = message.oui;
  wanted.methods = std::bitset<128>(message.methods[1]) << 64 | std::bitset<128>(message.methods[0]);
  wanted.rmpp_version = message.rmpp_version;
  wanted.does_rmpp_itself = message.does_rmpp_itself != 0;
  return wanted;
}

// The reader copies it out, so that a writer who goes on writing spoils his own message alone.
Expected<UniqueFd, int> put_message(MadBody& body, Bytes message) {
  if (message.size() > kMostMadBytes) return Unexpected{EMSGSIZE};
  body.length = static_cast<std::uint32_t>(message.size());
  if (message.size() <= sizeof body.bytes) {
    std::copy(message.begin(), message.end(), body.bytes);
    return UniqueFd();
  }
  UniqueFd fd = make_shared_memory("softrnic-mad", message.size());
  if (!fd || !write_all(fd.get(), message)) return Unexpected{errno};
  return fd;
}

std::optional<std::vector<std::byte>> message_in(const MadBody& body, int fd) {
  if (body.length <= sizeof body.bytes) return std::vector(body.bytes, body.bytes + body.length);
  if (body.length > kMostMadBytes || fd < 0 || !is_shared_memory(fd, body.length)) return std::nullopt;
  std::vector<std::byte> message(body.length);
  if (!read_all(fd, message)) return std::nullopt;
  return message;
}

}  // namespace softrnic::control
