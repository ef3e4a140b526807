// What the kernel tells of threads of this PID namespace, also of other processes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace softrnic::samehost {

/// Reads a file of a thread in /proc, as far as there is room, and ends it by a zero. 0: there is none,
/// or none for this process.
std::size_t read_thread_file(pid_t thread, const char* name, std::span<char> text);
/// As proc(5) names it; '?': it does not tell.
char thread_state(pid_t thread);
/// Whether there is no such thread any more, or what is left of it runs no program and is in no system call.
/// False also when the kernel does not tell.
bool is_gone(pid_t thread);

}  // namespace softrnic::samehost
