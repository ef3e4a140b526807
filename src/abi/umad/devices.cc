// umad_get_ca, umad_get_port and what else tells of devices.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "abi/export.h"
#include "abi/umad/calls.h"
#include "abi/umad/choice.h"
#include "abi/umad/process.h"
#include "abi/umad/structures.h"
#include "base/bytes.h"
#include "base/reason_id.h"

namespace softrnic::umad {
namespace {

template <std::size_t size>
void put(char (&field)[size], const std::string& text) {
  std::snprintf(field, size, "%s", text.c_str());
}

/// The port as programs read it; its P_Keys are malloc's.
bool fill(umad_port& out, const std::string& ca, const control::MadPort& port) {
  auto* const pkeys = static_cast<std::uint16_t*>(
      std::calloc(std::max<std::size_t>(port.pkeys.size(), 1), sizeof(std::uint16_t)));
  if (pkeys == nullptr) return false;
  std::copy(port.pkeys.begin(), port.pkeys.end(), pkeys);
  out = {};
  put(out.ca_name, ca);
  out.portnum = static_cast<int>(port.number);
  out.base_lid = port.lid;
  out.lmc = port.lmc;
  out.sm_lid = port.sm_lid;
  out.sm_sl = port.sm_sl;
  out.state = port.state;
  out.phys_state = port.physical_state;
  out.rate = port.rate;
  out.capmask = __builtin_bswap32(port.capability_mask);
  out.gid_prefix = __builtin_bswap64(port.gid_prefix);
  out.port_guid = __builtin_bswap64(port.port_guid);
  out.pkeys_size = static_cast<unsigned>(port.pkeys.size());
  out.pkeys = pkeys;
  put(out.link_layer, is_infiniband(port) ? "InfiniBand" : "Ethernet");
  return true;
}

void release(umad_port& port) {
  std::free(port.pkeys);
  port.pkeys = nullptr;
  port.pkeys_size = 0;
}

void release(umad_ca& ca) {
  for (umad_port*& port : ca.ports) {
    if (port == nullptr) continue;
    release(*port);
    std::free(port);
    port = nullptr;
  }
}

Expected<int, Failure> fill(umad_ca& out, const control::MadCa& ca) {
  out = {};
  put(out.ca_name, ca.name);
  out.node_type = ca.node_type;
  put(out.fw_ver, ca.firmware);
  put(out.ca_type, ca.type);
  put(out.hw_ver, ca.hardware);
  out.node_guid = __builtin_bswap64(ca.node_guid);
  out.system_guid = __builtin_bswap64(ca.system_guid);
  for (const control::MadPort& port : ca.ports) {
    auto* const made = static_cast<umad_port*>(std::calloc(1, sizeof(umad_port)));
    if (made == nullptr || !fill(*made, ca.name, port)) {
      std::free(made);
      release(out);
      return abi::out_of_memory();
    }
    out.ports[port.number] = made;
    out.numports = std::max(out.numports, made->portnum);
  }
  return 0;
}

Expected<int, Failure> get_ca(const char* name, umad_ca* out) {
  if (out == nullptr) return abi::null_argument();
  const auto chosen = choose_ca(name);
  if (!chosen) return Unexpected{chosen.error()};
  const auto ca = find_ca(*chosen);
  if (!ca) return Unexpected{ca.error()};
  return fill(*out, *ca);
}

Expected<int, Failure> get_port(const Choice& chosen, umad_port* out) {
  if (out == nullptr) return abi::null_argument();
  const auto ca = find_ca(chosen.ca);
  if (!ca) return Unexpected{ca.error()};
  const control::MadPort* const port = ca->port(static_cast<std::uint32_t>(chosen.port));
  if (port == nullptr) return rnic::refused(EINVAL, ReasonId::mad_no_port, chosen.port);
  if (!fill(*out, ca->name, *port)) return abi::out_of_memory();
  return 0;
}

Expected<int, Failure> get_cas_names(char (*names)[kNameSize], int max) {
  auto cas = all_cas();
  if (!cas) return Unexpected{cas.error()};
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(cas->begin(), cas->end(), by_name);
  int count = 0;
  for (const control::MadCa& ca : *cas)
    if (count < max && ca.name.size() < kNameSize) put(names[count++], ca.name);
  return count;
}

Expected<int, Failure> get_portguids(const char* name, std::uint64_t* guids, int max) {
  const auto chosen = choose_ca(name);
  if (!chosen) return Unexpected{chosen.error()};
  const auto ca = find_ca(*chosen);
  if (!ca) return Unexpected{Failure{EPERM, ca.error().reason}};  // -1, as libibumad
  if (guids == nullptr) return 0;
  std::uint32_t highest = 0;
  for (const control::MadPort& port : ca->ports) highest = std::max(highest, port.number);
  const int count = static_cast<int>(highest) + 1;
  if (count > max) return abi::out_of_memory();
  std::fill_n(guids, count, 0);
  for (const control::MadPort& port : ca->ports) guids[port.number] = __builtin_bswap64(port.port_guid);
  return count;
}

/// One allocation, as libibumad's is: programs may free what they take out of the list.
umad_device_node* make_node(const std::string& name) {
  void* const place = std::calloc(1, sizeof(umad_device_node) + name.size() + 1);
  if (place == nullptr) return nullptr;
  auto* const node = static_cast<umad_device_node*>(place);
  char* const text = reinterpret_cast<char*>(node + 1);
  std::memcpy(text, name.c_str(), name.size() + 1);
  node->ca_name = text;
  return node;
}

Expected<umad_device_node*, Failure> make_device_list() {
  const auto cas = all_cas();
  if (!cas) return Unexpected{cas.error()};
  umad_device_node* head = nullptr;
  for (std::size_t i = cas->size(); i > 0; --i) {
    umad_device_node* const node = make_node((*cas)[i - 1].name);
    if (node == nullptr) return abi::out_of_memory();
    node->next = std::exchange(head, node);
  }
  return head;
}

}  // namespace
}  // namespace softrnic::umad

using namespace softrnic;
using namespace softrnic::umad;

SOFTRNIC_EXPORT int umad_init() { return 0; }
SOFTRNIC_EXPORT int umad_done() { return 0; }

SOFTRNIC_EXPORT int umad_get_cas_names(char names[][kNameSize], int max) {
  const int count = value_or(-1, [&] { return get_cas_names(names, max); });
  if (count >= 0 || max < 1) return std::max(count, 0);
  std::snprintf(names[0], kNameSize, "mthca0");  // libibumad's answer on a host without RDMA
  return 1;
}

SOFTRNIC_EXPORT int umad_get_ca(const char* ca_name, umad_ca* ca) {
  return value_or_error([&] { return get_ca(ca_name, ca); });
}

SOFTRNIC_EXPORT int umad_release_ca(umad_ca* ca) {
  if (ca == nullptr) return -ENODEV;
  release(*ca);
  return 0;
}

SOFTRNIC_EXPORT int umad_get_port(const char* ca_name, int portnum, umad_port* port) {
  Choice chosen;
  if (!choose_into(chosen, ca_name, portnum)) return -ENODEV;
  return value_or(-EIO, [&] { return get_port(chosen, port); });
}

SOFTRNIC_EXPORT int umad_release_port(umad_port* port) {
  if (port == nullptr) return -ENODEV;
  release(*port);
  return 0;
}

SOFTRNIC_EXPORT int umad_get_ca_portguids(const char* ca_name, std::uint64_t* portguids, int max) {
  return value_or_error([&] { return get_portguids(ca_name, portguids, max); });
}

SOFTRNIC_EXPORT umad_device_node* umad_get_ca_device_list() {
  umad_device_node* const list = abi::pointer_call([] { return make_device_list(); });
  if (list != nullptr) errno = 0;
  return list;
}

SOFTRNIC_EXPORT void umad_free_ca_device_list(umad_device_node* head) {
  while (head != nullptr) std::free(std::exchange(head, head->next));
}

/// `size` 0: all nodes. 0, ENOMEM, or EINVAL where there are not that many.
SOFTRNIC_EXPORT int umad_sort_ca_device_list(umad_device_node** head, std::size_t size) {
  std::size_t there = 0;
  for (const umad_device_node* node = *head; node != nullptr; node = node->next) ++there;
  if (size == 0) size = there;
  if (size < 2) return 0;
  if (size != there) return EINVAL;
  const std::unique_ptr<umad_device_node*[]> nodes(new (std::nothrow) umad_device_node*[size]);
  if (nodes == nullptr) return ENOMEM;
  umad_device_node* next = *head;
  for (std::size_t i = 0; i < size; ++i) next = (nodes[i] = next)->next;
  const auto by_name = [](const auto* a, const auto* b) { return std::strcmp(a->ca_name, b->ca_name) < 0; };
  std::sort(nodes.get(), nodes.get() + size, by_name);
  for (std::size_t i = 0; i + 1 < size; ++i) nodes[i]->next = nodes[i + 1];
  nodes[size - 1]->next = nullptr;
  *head = nodes[0];
  return 0;
}
