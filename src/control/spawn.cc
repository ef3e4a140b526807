#include "control/spawn.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/argument_pointers.h"
#include "base/reason_id.h"
#include "base/settings.h"
#include "control/background.h"

/// glibc's clone(2) by the name that no sanitizer takes over. TSan's wrapper is made for a child with a
/// memory of its own: in a shared one its bookkeeping after the fork runs twice on this thread, which from
/// then on locks and unlocks unseen, and other threads are told of double locks and races that do not exist.
extern "C" int __clone(int (*body)(void*), void* stack, int flags, void* argument, ...);

namespace softrnic::control {
namespace {

constexpr std::size_t kStackBytes = 65536;

/// All that the new process needs, made before it exists: it shares our memory and may neither allocate nor
/// lock. It calls the kernel directly, as a sanitizer's wrappers would change the books of this process.
struct Plan {
  const char* path;
  char* const* arguments;
  char* const* environment;
  int report;
  void* second_stack;
  StartupReport failure;
};

SOFTRNIC_NEW_PROCESS void* top_of(void* stack) { return static_cast<char*>(stack) + kStackBytes; }

SOFTRNIC_NEW_PROCESS void reset_signals() {
  constexpr int kSignals = 64;
  const unsigned long defaults[8] = {};  // the kernel's struct sigaction: SIG_DFL, no flags, empty mask
  for (int number = 1; number <= kSignals; ++number)
    syscall(SYS_rt_sigaction, number, defaults, nullptr, sizeof(unsigned long));
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, defaults, nullptr, sizeof(unsigned long));
}

SOFTRNIC_NEW_PROCESS void close_from(int first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  constexpr int kMostDescriptors = 65536;  // kernels before 5.9
  for (int fd = first; fd < kMostDescriptors; ++fd) syscall(SYS_close, fd);
}

/// False: the pipe could not become kReportFd, and nothing was closed. Opens nothing before all is closed, as
/// the program may have used up its descriptors.
SOFTRNIC_NEW_PROCESS bool keep_only_report(int report) {
  const long moved = report == kReportFd ? syscall(SYS_fcntl, report, F_SETFD, 0)  // no FD_CLOEXEC
                                         : syscall(SYS_dup3, report, kReportFd, 0);
  if (moved < 0) return false;
  close_from(kReportFd + 1);
  // without /dev/null they stay closed: a pipe of the program must not stay open for as
  // long as the daemon lives
  for (int fd = 0; fd < kReportFd; ++fd) syscall(SYS_close, fd);
  const long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
  for (int fd = 1; fd < kReportFd; ++fd) syscall(SYS_dup3, null, fd, 0);
  return true;
}

SOFTRNIC_NEW_PROCESS int become_daemon(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  reset_signals();
  int report = plan.report;
  if (keep_only_report(report)) {
    report = kReportFd;
    leave_terminal();
    syscall(SYS_execve, plan.path, plan.arguments, plan.environment);
  }
  plan.failure.error = errno;
  syscall(SYS_write, report, &plan.failure, sizeof plan.failure);
  syscall(SYS_exit, 127);
  return 0;
}

/// A second process, because exec makes a child one whose end raises SIGCHLD; the orphan's parent is init.
SOFTRNIC_NEW_PROCESS int step_aside(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  const int child = __clone(become_daemon, top_of(plan.second_stack), CLONE_VM | CLONE_VFORK, argument);
  syscall(SYS_exit, child < 0 ? errno : 0);
  return 0;
}

/// 0 or a positive errno. Returns after exec.
int run_plan(Plan& plan) {
  void* stacks =
      mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) return errno;
  plan.second_stack = static_cast<char*>(stacks) + kStackBytes;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of the program may run in the shared memory
  const int child = __clone(step_aside, top_of(stacks), CLONE_VM | CLONE_VFORK, &plan);
  int error = child < 0 ? errno : 0;
  if (child > 0) {
    int status = 0;
    pid_t waited;
    do {
      waited = waitpid(child, &status, __WALL);
    } while (waited < 0 && errno == EINTR);
    if (waited == child && WIFEXITED(status)) error = WEXITSTATUS(status);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stacks, 2 * kStackBytes);
  return error;
}

std::string resolved(const char* path) {
  char out[PATH_MAX];
  return realpath(path, out) != nullptr ? out : "";
}

std::string folder_of(const std::string& path) {
  const std::string real = resolved(path.c_str());
  return real.substr(0, real.rfind('/'));
}

std::string daemon_near(const std::string& folder) {
  if (folder.empty()) return {};
  // the program's own folder; lib/softrnic/; lib/<architecture>/softrnic/; build/tests/ and the like
  for (const char* step :
       {"/softrnicd", "/../../bin/softrnicd", "/../../../bin/softrnicd", "/../bin/softrnicd"}) {
    const std::string path = folder + step;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

Error start_failed(int error) { return make_error(no_daemon(error)); }

/// A daemon with too few descriptors would live, and refuse everybody else's programs.
bool daemon_has_descriptors() {
  constexpr rlim_t kFewest = 64;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
         limit.rlim_max >= kFewest;  // it raises the soft limit itself
}

}  // namespace

std::string own_program() {
  const std::string found = resolved("/proc/self/exe");
  if (!found.empty()) return found;
  // without /proc: as execve(2) was given it, which may lead elsewhere by now
  const auto* const given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return given != nullptr ? resolved(given) : "";
}

std::string find_daemon() {
  if (!settings().daemon.empty()) return settings().daemon;
  Dl_info info{};
  std::string found;
  if (dladdr(reinterpret_cast<const void*>(&find_daemon), &info) != 0 && info.dli_fname != nullptr)
    found = daemon_near(folder_of(info.dli_fname));
  return found.empty() ? daemon_near(folder_of(own_program())) : found;
}

DaemonCommand daemon_command(const std::string& path) {
  DaemonCommand command{path.empty() ? find_daemon() : path, {}};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("LD_AUDIT="))
      command.environment.emplace_back(text);
  }
  return command;
}

Expected<UniqueFd, Error> launch_daemon(const DaemonCommand& command) {
  if (command.path.empty()) return Unexpected{start_failed(ENOENT)};
  if (!daemon_has_descriptors()) return Unexpected{start_failed(EMFILE)};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unexpected{start_failed(errno)};
  UniqueFd reading(above_stdio(ends[0])), writing(above_stdio(ends[1]));
  if (!reading || !writing) return Unexpected{start_failed(errno)};
  std::string words[] = {command.path, "--report-fd", std::to_string(kReportFd)};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  const std::vector<char*> environment = argument_pointers(command.environment);
  Plan plan{command.path.c_str(), arguments, environment.data(), writing.get(), nullptr, {}};
  plan.failure.reason = static_cast<std::uint32_t>(ReasonId::daemon_unreachable);
  if (const int error = run_plan(plan)) return Unexpected{start_failed(error)};
  return reading;
}

Expected<Started, Error> read_report(const UniqueFd& launched, const std::string& path) {
  pollfd waiting{launched.get(), POLLIN, 0};
  const int timeout = static_cast<int>(std::chrono::milliseconds(kAnswerTimeout).count());
  int ready;
  do {
    ready = poll(&waiting, 1, timeout);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return Unexpected{start_failed(ETIMEDOUT)};
  StartupReport report;
  ssize_t got;
  do {
    got = read(launched.get(), &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return Started::vanished;
  if (got != sizeof report || report.magic != StartupReport::kMagic) return Unexpected{start_failed(EPROTO)};
  if (report.error == 0) return Started::ready;
  Error error = error_in(report);
  if (error.failure.reason.id == ReasonId::daemon_unreachable) error.text += " (" + path + ")";
  return Unexpected{std::move(error)};
}

Expected<Started, Error> start_daemon(const DaemonCommand& command) {
  const auto launched = launch_daemon(command);
  if (!launched) return Unexpected{launched.error()};
  return read_report(*launched, command.path);
}

}  // namespace softrnic::control
