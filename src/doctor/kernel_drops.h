// Counters of /proc/net/snmp and snmp6: packets that the kernel dropped before any program saw them.
#pragma once

#include <string_view>
#include <vector>

#include "doctor/facts.h"

namespace softrnic::doctor {

/// Those that are not 0, from the text of both files. What is no such text has none.
std::vector<KernelDrop> kernel_drops(std::string_view snmp, std::string_view snmp6);

/// Why the kernel drops packets with that counter, and what to do; empty: it is none of them.
std::string_view cause_of_drop(std::string_view counter);

}  // namespace softrnic::doctor
