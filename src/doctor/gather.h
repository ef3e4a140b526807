// Looks at this host, by doing where that is possible. Starts a daemon when there is none, as a program that
// opens a device would. Takes a few seconds at most; changes nothing that outlives it.
#pragma once

#include <string>

#include "doctor/facts.h"

namespace softrnic::doctor {

struct Wanted {
  std::string library_folder;  ///< of softrnic; empty: it is not where it belongs
  std::string program;         ///< whose libraries are looked at; empty: any
  std::string device;          ///< empty: all
};

Facts gather(const Wanted& wanted);

// ---- parts of it, by the file that has them
ProgramFacts gather_program(const Wanted& wanted);  ///< gather_programs.cc
HostFacts gather_host();                            ///< gather_host.cc
void gather_limits(HostFacts& host);                ///< gather_limits.cc
SameHostFacts gather_same_host();                   ///< gather_same_host.cc
void gather_calls(SameHostFacts& here);             ///< gather_calls.cc
/// The daemon, its devices, and the port and buffers that are the daemon's to have.
void gather_daemon(const Wanted& wanted, Facts& facts);  ///< gather_daemon.cc
void gather_sockets(NetworkFacts& network);              ///< gather_network.cc

/// What the dynamic loader `interpreter` says that it loads with an environment (ld.so --list).
LoadFacts parse_loader_list(const std::string& text, const std::string& library_folder);
/// The processors' worth of time that a cgroup gives, by the text of cpu.max; 0: no limit.
double parse_cpu_max(const std::string& text);
/// The option hidepid of the mount at /proc in the text of /proc/self/mountinfo; empty: none.
std::string parse_hidepid(const std::string& mountinfo);

}  // namespace softrnic::doctor
