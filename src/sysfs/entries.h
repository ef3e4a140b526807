// The one table of the files that softrnic shows under /sys and /dev: a path, and how its text is made.
//
// Their forms are those of Linux (Documentation/ABI/stable/sysfs-class-infiniband,
// drivers/infiniband/core/sysfs.c), as programs parse them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sysfs/facts.h"

namespace softrnic::sysfs {

/// How often a row of the table stands in the tree.
enum class Each : std::uint8_t {
  host,          ///< once
  device,        ///< for each device
  netdev,        ///< for each device that is of a netdev; a port of InfiniBand is of none
  mad_port,      ///< for each device with queue pairs of management datagrams: iWARP has none
  gid,           ///< for each place of its GID table
  used_gid,      ///< for each place that has a GID
  pkey,          ///< for each place of its P_Key table
  port_counter,  ///< for each row of port_counters()
  hw_counter,    ///< for each row of hw_counters()
};

enum class NodeKind : std::uint8_t { file, link };

/// Which of them a row is asked for. `device` is null for Each::host.
struct Place {
  const DeviceFacts* device = nullptr;
  std::size_t index = 0;  ///< of the GID, P_Key or counter
};

struct Entry {
  Each each;
  NodeKind kind;
  const char* path;  ///< with {device}, {uverbs}, {umad}, {issm}, {netdev}, {index}, {counter}
  std::string (*text)(const Place&);  ///< of a file, with its newline; of a link, what it points to
};

std::span<const Entry> entries();

/// A file in counters/ or hw_counters/: the sum of what softrnic counts under other names.
struct CounterFile {
  const char* name;
  std::uint32_t divisor = 1;
  std::span<const ib::Counter> parts;  ///< none: what can never happen here
};
std::span<const CounterFile> port_counters();
std::span<const CounterFile> hw_counters();

/// How old a file may be, in milliseconds: hw_counters/lifespan says so.
inline constexpr unsigned kLifespanMs = 100;

}  // namespace softrnic::sysfs
