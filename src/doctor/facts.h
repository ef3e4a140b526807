// What was seen of this host and its daemon, as plain data: a check is a function of nothing else, so that
// every outcome can be tested anywhere. Filled by gather.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernel_drop.h"
#include "base/reason.h"
#include "device/device_info.h"

namespace softrnic::doctor {

/// A library as the dynamic loader finds it.
struct LibraryFacts {
  std::string name;
  std::string path;   ///< empty: it is found nowhere
  bool ours = false;  ///< softrnic's
};

/// One run of the loader.
struct LoadFacts {
  bool asked = false;                   ///< the loader answered
  std::vector<LibraryFacts> libraries;  ///< in the order of kLibraries
  std::vector<std::string> missing;     ///< other libraries that the program needs, and preloaded ones
};
inline constexpr std::string_view kLibraries[] = {"libibverbs.so.1", "librdmacm.so.1", "libibumad.so.3"};
inline constexpr std::size_t kOwnLibraries = 2;  ///< of these softrnic has

enum class ProgramKind : std::uint8_t {
  any,  ///< none was named
  dynamic,
  not_found,
  not_elf,
  other_machine,
  without_loader,  ///< linked statically
  other_libc,
  other_loader,  ///< not this host's, so it is not run to ask it
  privileged,    ///< set-user-ID, set-group-ID or with file capabilities
};

struct ProgramFacts {
  ProgramKind kind = ProgramKind::any;
  std::string path;
  std::string library_folder;   ///< softrnic's; empty: it is not where it belongs
  LoadFacts by_run;             ///< as `softrnic run` starts programs
  LoadFacts plain;              ///< with the environment as it is
  bool folder_in_path = false;  ///< LD_LIBRARY_PATH names a folder with a library of softrnic's

  std::vector<std::string> setting_warnings;
  std::string faults, faults_trouble;  ///< SOFTRNIC_FAULTS, and what is wrong with it
  bool capture = false, wire_only = false;
  std::string device;       ///< SOFTRNIC_DEVICE
  std::string preload;      ///< LD_PRELOAD and LD_AUDIT, but for
  std::string own_preload;  ///< softrnic's libraries in them
};

struct HostFacts {
  std::string kernel;  ///< "6.1.0-18-amd64"
  unsigned kernel_major = 0, kernel_minor = 0;
  std::string libc;  ///< "2.36"
  unsigned libc_major = 0, libc_minor = 0;
  std::string crc;  ///< by which instructions; empty: by tables
  std::uint64_t clock_ns = 0;
  std::string clock_source;           ///< empty: the kernel does not tell
  std::uint32_t processors = 0;       ///< that this process may run on
  std::uint32_t processors_here = 0;  ///< online
  double quota = 0;                   ///< processors' worth of time that the cgroup gives; 0: no limit

  std::uint64_t descriptors_soft = 0, descriptors_hard = 0;
  std::uint32_t threads_wanted = 0;
  int threads_error = 0;  ///< of starting as many tasks; 0: they started
  std::uint64_t threads_limit = 0;
  std::uint64_t address_space_limit = 0, address_space_wanted = 0;
  int address_space_error = 0;  ///< of mapping as much
  std::uint64_t memlock_limit = 0;
};
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// A system call that was tried.
struct CallFacts {
  std::string_view name;
  std::string_view use;  ///< what goes another way without it
  int error = 0;         ///< a filter's: EPERM, ENOSYS, …; kKilled: the filter killed the caller
};
inline constexpr int kKilled = -1;

struct SameHostFacts {
  bool filtered = false;  ///< a seccomp filter is in force
  std::vector<CallFacts> calls;

  bool attach_tried = false;  ///< between two processes of this user
  int descriptor_error = 0;   ///< of taking a descriptor from the other one
  bool descriptor_attached = false;
  int memory_error = 0;      ///< of reading and writing its memory
  bool proc_memory = false;  ///< its /proc/PID/mem opens
  bool dumpable = true;
  std::optional<int> yama;  ///< kernel.yama.ptrace_scope; nothing: no Yama, or no /proc

  bool rseq = false;
  int memfd_error = 0;
  std::uint64_t memfd_bytes = 0;

  bool proc = false;          ///< /proc is there, and of this PID namespace
  std::string proc_hidepid;   ///< the mount's option; empty: none
  bool mapping_seen = false;  ///< the kernel told of a shared mapping
  bool root_read_only = false, dev_shm = false;
};

struct DaemonFacts {
  bool reachable = false;
  bool started = false;  ///< by this look
  std::uint64_t answer_us = 0;
  std::string error, cure;  ///< why it is not reachable
  ReasonId reason{};

  std::int32_t pid = 0;   ///< as this process sees it; 0: it does not
  std::string program;    ///< its path; empty: not to be seen
  bool replaced = false;  ///< the file was replaced since it started
  bool of_all = false;    ///< it serves all users
  std::uint32_t uid = 0;
  std::uint32_t protocol = 0, clients = 0, lanes = 0, idle_seconds = 0;
  std::vector<std::string> other_namespaces;  ///< "user", "pid" or "net" differ
  bool may_attach = false;                    ///< to each other, as far as the daemon's rules can tell
};

struct NetworkFacts {
  int port_error = 0;       ///< of binding the port when no daemon has it
  std::string port_holder;  ///< a sentence
  std::string port_cure;
  bool rxe = false;  ///< the kernel's driver is loaded
  bool ipv6 = true;

  /// Bytes, as getsockopt(2) tells them: the kernel doubles what it grants.
  std::uint64_t receive_buffer = 0, receive_wanted = 0, send_buffer = 0, send_wanted = 0;
  std::optional<std::uint64_t> rmem_max, wmem_max;
  int segment_error = 0, gro_error = 0;
  KernelDropCounts drops{};
};

/// A datagram to an address of a device, on UDP port 4791.
struct AddressFacts {
  std::string address;
  int error = 0;  ///< ETIMEDOUT: it did not arrive
  std::uint64_t us = 0;
};

struct DeviceFacts {
  device::DeviceInfo info;
  bool tried = false;  ///< datagrams
  std::vector<AddressFacts> addresses;
};

struct Facts {
  ProgramFacts program;
  HostFacts host;
  SameHostFacts same_host;
  DaemonFacts daemon;
  NetworkFacts network;
  std::vector<DeviceFacts> devices;
  std::string only_device;  ///< what was asked for; empty: all
};

}  // namespace softrnic::doctor
