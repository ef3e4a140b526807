#include "sysfs/entries.h"

#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "rnic/context.h"
#include "wire/headers.h"

namespace softrnic::sysfs {
namespace {

template <typename... Figures>
std::string print(const char* format, Figures... figures) {
  char text[128];
  const int length = std::snprintf(text, sizeof text, format, figures...);
  return length < 0 ? std::string() : std::string(text, std::min<std::size_t>(length, sizeof text - 1));
}

ibv_port_attr port_of(const Place& at) { return rnic::port_attributes_of(at.device->info); }

/// Words by number, as the kernel prints them: "4: ACTIVE".
template <std::size_t n>
std::string number_and_word(unsigned number, const char* const (&words)[n]) {
  return print("%u: %s\n", number, number < n && words[number] != nullptr ? words[number] : "<unknown>");
}

constexpr const char* kNodeTypes[] = {nullptr, "CA", "switch", "router", "RNIC"};  // enum ibv_node_type
constexpr const char* kStates[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
constexpr const char* kPhysicalStates[] = {
    nullptr,   "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery",
    "Phy Test"};  // IBTA table 155

// ---- devices

std::string guid(const Place& at) {
  const std::uint64_t value = at.device->info.guid;
  const auto word = [value](unsigned shift) { return static_cast<unsigned>(value >> shift & 0xffff); };
  return print("%04x:%04x:%04x:%04x\n", word(48), word(32), word(16), word(0));
}

std::string node_type(const Place& at) {
  return number_and_word(device::info_of(at.device->info.kind).node, kNodeTypes);
}

std::string node_description(const Place& at) {
  utsname host{};
  const bool known = uname(&host) == 0 && host.nodename[0] != 0;
  return (known ? std::string(host.nodename) + " " : std::string()) + at.device->info.name + "\n";
}

std::string firmware(const Place& at) {
  const ibv_device_attr attributes = rnic::attributes_of(at.device->info);
  return std::string(attributes.fw_ver, strnlen(attributes.fw_ver, sizeof attributes.fw_ver)) + "\n";
}

std::string hardware(const Place& at) { return print("0x%x\n", rnic::attributes_of(at.device->info).hw_ver); }

std::string netdev(const Place& at) { return at.device->info.netdev + "\n"; }
std::string netdev_link(const Place& at) { return "/sys/class/net/" + at.device->info.netdev; }
std::string device_name(const Place& at) { return at.device->info.name + "\n"; }

// ---- ports

std::string lid(const Place& at) { return print("0x%x\n", port_of(at).lid); }
std::string lid_mask_count(const Place& at) { return print("%u\n", port_of(at).lmc); }
std::string sm_lid(const Place& at) { return print("0x%x\n", port_of(at).sm_lid); }
std::string sm_sl(const Place& at) { return print("%u\n", port_of(at).sm_sl); }
std::string state(const Place& at) { return number_and_word(port_of(at).state, kStates); }
std::string physical_state(const Place& at) {
  return number_and_word(port_of(at).phys_state, kPhysicalStates);
}
std::string capabilities(const Place& at) { return print("0x%08x\n", port_of(at).port_cap_flags); }

/// Width and speed of PortInfo (IBTA 14.2.5.6) in the kernel's words.
std::string rate(const Place& at) {
  struct Speed {
    unsigned code, tenths;  // of Gb/s a lane
    const char* name;
  };
  constexpr Speed speeds[] = {{1, 25, "SDR"},   {2, 50, "DDR"},   {4, 100, "QDR"},  {8, 100, "FDR10"},
                              {16, 140, "FDR"}, {32, 250, "EDR"}, {64, 500, "HDR"}, {128, 1000, "NDR"}};
  const ibv_port_attr port = port_of(at);
  const unsigned lanes = port.active_width == 1   ? 1
                         : port.active_width == 2 ? 4
                         : port.active_width == 4 ? 8
                                                  : 12;
  const Speed* speed = speeds;
  for (const Speed& known : speeds)
    if (known.code == port.active_speed) speed = &known;
  const unsigned tenths = speed->tenths * lanes;
  return print("%u%s Gb/sec (%uX %s)\n", tenths / 10, tenths % 10 != 0 ? ".5" : "", lanes, speed->name);
}

std::string link_layer(const Place& at) {
  return port_of(at).link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet\n" : "InfiniBand\n";
}

const device::GidEntry& gid_of(const Place& at) { return at.device->info.port.gids[at.index]; }

std::string gid(const Place& at) {
  std::string out;
  for (std::size_t i = 0; i < 16; i += 2) {
    const auto& raw = gid_of(at).gid.raw;
    out += print(i == 0 ? "%02x%02x" : ":%02x%02x", static_cast<unsigned>(raw[i]),
                 static_cast<unsigned>(raw[i + 1]));
  }
  return out + "\n";
}

std::string gid_type(const Place& at) {
  return device::info_of(at.device->info.kind).gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2\n"
                                                                                : "IB/RoCE v1\n";
}

std::string pkey(const Place& at) {
  return print("0x%04x\n", static_cast<unsigned>(device::pkeys_of(at.device->info)[at.index]));
}

// ---- counters

std::string counter(const CounterFile& file, const Place& at) {
  std::uint64_t sum = 0;
  for (const ib::Counter part : file.parts) sum += at.device->counters[static_cast<std::size_t>(part)];
  return std::to_string(sum / file.divisor) + "\n";
}
std::string port_counter(const Place& at) { return counter(port_counters()[at.index], at); }
std::string hw_counter(const Place& at) { return counter(hw_counters()[at.index], at); }

using enum ib::Counter;
using ib::Counter;
constexpr Counter kTxBytes[] = {tx_bytes}, kRxBytes[] = {rx_bytes}, kTxPackets[] = {tx_packets},
                  kRxPackets[] = {rx_packets}, kBad[] = {drop_malformed, drop_icrc}, kPkey[] = {drop_pkey},
                  kOverflow[] = {drop_overflow}, kUnsent[] = {send_errors};
constexpr std::uint32_t kWord = 4;  // IBTA 16.1.3.5: PortXmitData counts words of 32 bits

// What has no parts counts what a port without a cable and a subnet does not know.
constexpr CounterFile kPortCounters[] = {
    {"port_xmit_data", kWord, kTxBytes},
    {"port_rcv_data", kWord, kRxBytes},
    {"port_xmit_packets", 1, kTxPackets},
    {"port_rcv_packets", 1, kRxPackets},
    {"port_rcv_errors", 1, kBad},
    {"port_rcv_constraint_errors", 1, kPkey},
    {"port_xmit_discards", 1, kUnsent},
    {"excessive_buffer_overrun_errors", 1, kOverflow},
    {"symbol_error", 1, {}},
    {"link_error_recovery", 1, {}},
    {"local_link_integrity_errors", 1, {}},
    {"port_rcv_remote_physical_errors", 1, {}},
    {"port_rcv_switch_relay_errors", 1, {}},
    {"port_xmit_constraint_errors", 1, {}},
    {"VL15_dropped", 1, {}},
};

constexpr Counter kDuplicates[] = {duplicates}, kSequence[] = {nak_sequence_received},
                  kRnr[] = {rnr_nak_received}, kTimeouts[] = {timeouts},
                  kNoBuffer[] = {rnr_nak_sent, drop_no_receive}, kAccessAnswered[] = {nak_access_received},
                  kInvalidAnswered[] = {nak_invalid_received}, kAccessRefused[] = {nak_access_sent},
                  kIcrc[] = {drop_icrc};

/// The names of drivers, which exporters know, for what means the same.
constexpr CounterFile kDriverNames[] = {
    {"duplicate_request", 1, kDuplicates},
    {"packet_seq_err", 1, kSequence},
    {"rnr_nak_retry_err", 1, kRnr},
    {"local_ack_timeout_err", 1, kTimeouts},
    {"out_of_buffer", 1, kNoBuffer},
    {"req_remote_access_errors", 1, kAccessAnswered},
    {"req_remote_invalid_request", 1, kInvalidAnswered},
    {"resp_remote_access_errors", 1, kAccessRefused},
    {"rx_icrc_encapsulated", 1, kIcrc},
};

constexpr auto kOwnCounters = [] {
  std::array<Counter, ib::kCounters> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Counter>(i);
  return all;
}();

/// Each counter of softrnic under its own name, then those of drivers.
constexpr auto kHwCounters = [] {
  std::array<CounterFile, ib::kCounters + std::size(kDriverNames)> all{};
  for (std::size_t i = 0; i < ib::kCounters; ++i)
    all[i] = {ib::kCounterInfos[i].name, 1, std::span(&kOwnCounters[i], 1)};
  for (std::size_t i = 0; i < std::size(kDriverNames); ++i) all[ib::kCounters + i] = kDriverNames[i];
  return all;
}();

#define SOFTRNIC_DEVICE "/sys/class/infiniband/{device}/"
#define SOFTRNIC_PORT SOFTRNIC_DEVICE "ports/1/"
#define SOFTRNIC_UVERBS "/sys/class/infiniband_verbs/{uverbs}/"
#define SOFTRNIC_MAD "/sys/class/infiniband_mad/"

std::string port_number(const Place&) { return "1\n"; }
std::string null_device(const Place&) { return "/dev/null"; }
std::string null_number(const Place&) { return "1:3\n"; }  // of /dev/null, which stands for the device file

constexpr Entry kEntries[] = {
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "node_type", node_type},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "node_guid", guid},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "sys_image_guid", guid},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "node_desc", node_description},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "fw_ver", firmware},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "hw_rev", hardware},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "hca_type",
     [](const Place&) { return std::string("softrnic\n"); }},
    {Each::device, NodeKind::file, SOFTRNIC_DEVICE "board_id",
     [](const Place&) { return std::string("softrnic\n"); }},
    {Each::netdev, NodeKind::file, SOFTRNIC_DEVICE "parent", netdev},  // as the kernel's rxe and siw have it
    {Each::netdev, NodeKind::link, SOFTRNIC_DEVICE "device/net/{netdev}", netdev_link},

    {Each::device, NodeKind::file, SOFTRNIC_PORT "lid", lid},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "lid_mask_count", lid_mask_count},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "sm_lid", sm_lid},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "sm_sl", sm_sl},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "state", state},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "phys_state", physical_state},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "rate", rate},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "link_layer", link_layer},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "cap_mask", capabilities},
    {Each::gid, NodeKind::file, SOFTRNIC_PORT "gids/{index}", gid},
    {Each::used_gid, NodeKind::file, SOFTRNIC_PORT "gid_attrs/types/{index}", gid_type},
    {Each::used_gid, NodeKind::file, SOFTRNIC_PORT "gid_attrs/ndevs/{index}", netdev},
    {Each::pkey, NodeKind::file, SOFTRNIC_PORT "pkeys/{index}", pkey},
    {Each::port_counter, NodeKind::file, SOFTRNIC_PORT "counters/{counter}", port_counter},
    {Each::hw_counter, NodeKind::file, SOFTRNIC_PORT "hw_counters/{counter}", hw_counter},
    {Each::device, NodeKind::file, SOFTRNIC_PORT "hw_counters/lifespan",
     [](const Place&) { return print("%u\n", kLifespanMs); }},

    {Each::host, NodeKind::file, "/sys/class/infiniband_verbs/abi_version",
     [](const Place&) { return std::string("6\n"); }},  // IB_USER_VERBS_ABI_VERSION
    {Each::device, NodeKind::file, SOFTRNIC_UVERBS "ibdev", device_name},
    {Each::device, NodeKind::file, SOFTRNIC_UVERBS "abi_version",
     [](const Place&) { return std::string("1\n"); }},
    {Each::device, NodeKind::file, SOFTRNIC_UVERBS "dev", null_number},
    {Each::netdev, NodeKind::link, SOFTRNIC_UVERBS "device/net/{netdev}", netdev_link},

    {Each::host, NodeKind::file, SOFTRNIC_MAD "abi_version",
     [](const Place&) { return std::string("5\n"); }},  // IB_USER_MAD_ABI_VERSION: ibstat asks for it
    {Each::mad_port, NodeKind::file, SOFTRNIC_MAD "{umad}/ibdev", device_name},
    {Each::mad_port, NodeKind::file, SOFTRNIC_MAD "{umad}/port", port_number},
    {Each::mad_port, NodeKind::file, SOFTRNIC_MAD "{umad}/dev", null_number},
    {Each::mad_port, NodeKind::file, SOFTRNIC_MAD "{issm}/ibdev", device_name},
    {Each::mad_port, NodeKind::file, SOFTRNIC_MAD "{issm}/port", port_number},
    {Each::mad_port, NodeKind::file, SOFTRNIC_MAD "{issm}/dev", null_number},

    {Each::device, NodeKind::link, "/dev/infiniband/{uverbs}", null_device},
    {Each::mad_port, NodeKind::link, "/dev/infiniband/{umad}", null_device},
    {Each::mad_port, NodeKind::link, "/dev/infiniband/{issm}", null_device},
    {Each::host, NodeKind::link, "/dev/infiniband/rdma_cm", null_device},
};

}  // namespace

std::span<const Entry> entries() { return kEntries; }
std::span<const CounterFile> port_counters() { return kPortCounters; }
std::span<const CounterFile> hw_counters() { return kHwCounters; }

}  // namespace softrnic::sysfs
