// What libibumad says on stderr of a buffer, as umad_dump(3) prints it.
#pragma once

#include "abi/umad/structures.h"

namespace softrnic::umad {

/// umad_debug's.
int debug_level();
void dump(const ib_user_mad& mad);

}  // namespace softrnic::umad
