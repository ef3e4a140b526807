#include "hardship.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

namespace softrnic::robust {
namespace {

bool stdio_was_closed = false;
char* own_name = nullptr;  ///< words[0]

rlim_t address_space_in_use() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

struct Resource {
  std::string_view name;
  decltype(RLIMIT_NOFILE) number;
};
constexpr Resource kResources[] = {{"nofile", RLIMIT_NOFILE},
                                   {"nproc", RLIMIT_NPROC},
                                   {"memlock", RLIMIT_MEMLOCK},
                                   {"address-space", RLIMIT_AS},
                                   {"file-size", RLIMIT_FSIZE}};

bool limit(char** words) {
  for (const Resource& resource : kResources) {
    if (resource.name != words[0]) continue;
    rlim_t most = std::strtoull(words[1], nullptr, 10);
    if (resource.number == RLIMIT_AS) most += address_space_in_use();
    const rlimit both{most, most};
    return setrlimit(resource.number, &both) == 0;
  }
  return false;
}

bool as_nobody(char** /*words*/) {
  constexpr unsigned kNobody = 65534;
  if (setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0) return true;
  return geteuid() != 0 || errno == EINVAL;  // EINVAL: root of a user namespace only, whom limits do bind
}

bool without_stdio(char** /*words*/) {
  stdio_was_closed = true;
  return close(STDIN_FILENO) == 0 && close(STDOUT_FILENO) == 0 && close(STDERR_FILENO) == 0;
}

/// From here on mounts are this process's own.
bool own_mounts() {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool without_proc(char** /*words*/) {
  return own_mounts() && mount("none", "/proc", "tmpfs", MS_RDONLY, nullptr) == 0;
}

bool hidden_proc(char** /*words*/) {
  return own_mounts() && mount("proc", "/proc", "proc", MS_NOSUID, "hidepid=ptraceable") == 0;
}

bool read_only(char** /*words*/) {
  if (!own_mounts() || mount("none", "/dev/shm", "tmpfs", MS_RDONLY, "mode=0") != 0) return false;
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) == 0;
}

// As a container's filter does it.
template <std::uint32_t kFirst, std::uint32_t kSecond = kFirst>
bool without(char** /*words*/) {
  constexpr auto kNumber = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kFirst, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSecond, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Descriptors 3 and 4, which a worker was given, stay open.
bool anew(char** words) {
  *--words = own_name;
  execv("/proc/self/exe", words);
  return false;
}

bool in_pid_namespace(char** /*words*/) {
  if (unshare(CLONE_NEWPID) != 0) return false;
  const pid_t child = fork();
  if (child == 0)
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;  // who kills the one that began kills them all
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

bool in_mount_namespace(char** /*words*/) { return own_mounts(); }

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return written;
}

bool in_user_namespace(char** /*words*/) {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", uid + " " + uid + " 1") &&
         write_file("/proc/self/gid_map", gid + " " + gid + " 1");
}

struct Hardship {
  std::string_view name;
  int arguments;
  bool (*begin)(char** words);
};
constexpr Hardship kHardships[] = {
    {"limit", 2, limit},
    {"as-nobody", 0, as_nobody},
    {"without-stdio", 0, without_stdio},
    {"without-proc", 0, without_proc},
    {"hidden-proc", 0, hidden_proc},
    {"without-attach", 0, without<SYS_process_vm_readv, SYS_process_vm_writev>},
    {"without-rseq", 0, without<SYS_rseq>},
    {"without-memfd", 0, without<SYS_memfd_create>},
    {"without-membarrier", 0, without<SYS_membarrier>},
    {"without-pidfd-getfd", 0, without<SYS_pidfd_getfd>},
    {"without-pidfd", 0, without<SYS_pidfd_open, SYS_pidfd_getfd>},
    {"anew", 0, anew},
    {"read-only", 0, read_only},
    {"in-pid-namespace", 0, in_pid_namespace},
    {"in-mount-namespace", 0, in_mount_namespace},
    {"in-user-namespace", 0, in_user_namespace}};

const Hardship* hardship_of(std::string_view word) {
  for (const Hardship& hardship : kHardships)
    if (hardship.name == word) return &hardship;
  return nullptr;
}

}  // namespace

int undergo(int count, char** words) {
  own_name = words[0];
  int used = 0;
  while (used + 1 < count) {
    const Hardship* const next = hardship_of(words[used + 1]);
    if (next == nullptr) return used;
    if (used + 1 + next->arguments >= count || !next->begin(words + used + 2)) return -1;
    used += 1 + next->arguments;
  }
  return used;
}

bool standard_descriptors_are_free() {
  if (!stdio_was_closed) return true;
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) != -1) return false;
  return true;
}

}  // namespace softrnic::robust
