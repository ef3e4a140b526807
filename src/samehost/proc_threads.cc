#include "samehost/proc_threads.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"

namespace softrnic::samehost {

std::size_t read_thread_file(pid_t thread, const char* name, std::span<char> text) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", thread, name);
  const UniqueFd file(above_stdio(open(path, O_RDONLY | O_CLOEXEC)));
  const ssize_t length = file ? read(file.get(), text.data(), text.size() - 1) : -1;
  text[length > 0 ? static_cast<std::size_t>(length) : 0] = '\0';
  return static_cast<std::size_t>(length > 0 ? length : 0);
}

char thread_state(pid_t thread) {
  char status[512];
  if (read_thread_file(thread, "stat", status) == 0) return '?';
  const char* const name_end = std::strrchr(status, ')');
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '?';
}

// The main thread of a process is a zombie until its parent looks, which may be never.
bool is_gone(pid_t thread) {
  if (thread <= 0 || (syscall(SYS_tkill, thread, 0) != 0 && errno == ESRCH)) return true;
  const char state = thread_state(thread);
  return state == 'Z' || state == 'X';
}

}  // namespace softrnic::samehost
