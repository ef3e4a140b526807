// A hint to the processor that a thread waits for memory to change: its sibling on the same core
// gets the units meanwhile.
#pragma once

namespace softrnic {

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace softrnic
