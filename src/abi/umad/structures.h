// The C structures of libibumad.so.3 (<infiniband/umad.h> of rdma-core), which programs allocate and read.
// Where it says so, numbers are in network order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrnic::umad {

inline constexpr std::size_t kNameSize = 20;     ///< UMAD_CA_NAME_LEN
inline constexpr std::size_t kMaxPorts = 10;     ///< UMAD_CA_MAX_PORTS: numbers 0 … 9
inline constexpr std::size_t kMaxDevices = 128;  ///< UMAD_MAX_DEVICES
inline constexpr std::uint32_t kUserRmpp = 1;    ///< UMAD_USER_RMPP

struct ib_mad_addr {
  std::uint32_t qpn;   // network order
  std::uint32_t qkey;  // network order
  std::uint16_t lid;   // network order
  std::uint8_t sl;
  std::uint8_t path_bits;
  std::uint8_t grh_present;
  std::uint8_t gid_index;
  std::uint8_t hop_limit;
  std::uint8_t traffic_class;
  std::uint8_t gid[16];
  std::uint32_t flow_label;  // network order
  std::uint16_t pkey_index;
  std::uint8_t reserved[6];
};
static_assert(sizeof(ib_mad_addr) == 44 && offsetof(ib_mad_addr, gid) == 16);

/// What umad_send and umad_recv work on; the MAD follows it.
struct ib_user_mad {
  std::uint32_t agent_id;
  std::uint32_t status;
  std::uint32_t timeout_ms;
  std::uint32_t retries;
  std::uint32_t length;  ///< of all, this header included
  ib_mad_addr addr;
};
static_assert(sizeof(ib_user_mad) == 64);

struct umad_port {
  char ca_name[kNameSize];
  int portnum;
  unsigned base_lid;
  unsigned lmc;
  unsigned sm_lid;
  unsigned sm_sl;
  unsigned state;
  unsigned phys_state;
  unsigned rate;
  std::uint32_t capmask;     // network order
  std::uint64_t gid_prefix;  // network order
  std::uint64_t port_guid;   // network order
  unsigned pkeys_size;
  std::uint16_t* pkeys;
  char link_layer[kNameSize];
};
static_assert(sizeof(umad_port) == 112 && offsetof(umad_port, pkeys) == 80);

struct umad_ca {
  char ca_name[kNameSize];
  unsigned node_type;
  int numports;  ///< the highest number
  char fw_ver[20];
  char ca_type[40];
  char hw_ver[20];
  std::uint64_t node_guid;    // network order
  std::uint64_t system_guid;  // network order
  umad_port* ports[kMaxPorts];
};
static_assert(sizeof(umad_ca) == 208 && offsetof(umad_ca, ports) == 128);

struct umad_device_node {
  umad_device_node* next;
  const char* ca_name;
};

struct umad_reg_attr {
  std::uint8_t mgmt_class;
  std::uint8_t mgmt_class_version;
  std::uint32_t flags;
  std::uint64_t method_mask[2];
  std::uint32_t oui;
  std::uint8_t rmpp_version;
};
static_assert(sizeof(umad_reg_attr) == 32);

struct umad_ca_pair {
  char smi_name[kNameSize];
  std::uint32_t smi_preferred_port;
  char gsi_name[kNameSize];
  std::uint32_t gsi_preferred_port;
};
static_assert(sizeof(umad_ca_pair) == 48);

}  // namespace softrnic::umad
