// Packets as text.
#pragma once

#include <string>

#include "wire/headers.h"

namespace softrnic::wire {

/// One line: opcode, destination QP, PSN and the fields of every extension header the opcode has. For people
/// and logs; allocates.
std::string to_string(const Packet& packet);

}  // namespace softrnic::wire
