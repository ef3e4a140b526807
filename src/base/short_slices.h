// For threads that have little to do, and that others wait for.
#pragma once

namespace softrnic {

/// A task that asks for short slices is run soon after it wakes up, at the same share of the
/// processor (EEVDF, Linux 6.12; older kernels take no notice). So it gets its turn although programs
/// spin on every processor.
void ask_for_short_slices();

}  // namespace softrnic
