#include "cli/run_sysfs.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/settings.h"
#include "cli/output.h"
#include "control/background.h"
#include "control/channel.h"
#include "doctor/elf_file.h"
#include "sysfs/folder.h"
#include "sysfs/namespace.h"

namespace softrnic::cli {
namespace {

using doctor::ProgramKind;

/// Which way reaches the program. A script is reached as its interpreter is.
SysfsWay choose(const doctor::ElfFile& program) {
  if (program.needs_asan) return SysfsWay::none;  // it refuses to start with another library before its own
  if (program.is_go) return SysfsWay::mount_namespace;
  switch (program.kind) {
    case ProgramKind::dynamic:
    case ProgramKind::not_elf:
      return SysfsWay::preload;
    case ProgramKind::without_loader:
    case ProgramKind::other_libc:
      return SysfsWay::mount_namespace;
    default:
      return SysfsWay::none;
  }
}

/// What stood in the way; empty: nothing.
using Trouble = std::string;

Trouble prepare_preload(control::Client& client, const std::string& device, const std::string& libraries) {
  const std::string library = libraries + "/libsoftrnic-preload.so";
  if (access(library.c_str(), R_OK) != 0) return library + ": " + std::strerror(errno);
  const std::string path = sysfs::folder_path(device);
  if (path.empty())
    return "no folder for the files: neither XDG_RUNTIME_DIR nor /run, /dev/shm or /tmp can be used";
  const auto folder = sysfs::open_folder(path);
  if (!folder) return path + ": " + std::strerror(folder.error());
  const auto facts = sysfs::gather(client, sysfs::Wanted::state_and_counters, device);
  if (!facts) return "the daemon does not answer";
  if (const int error = sysfs::write_all(folder->get(), sysfs::make_tree(*facts)))
    return path + ": " + std::strerror(error);
  const char* const old = std::getenv("LD_PRELOAD");
  const std::string all = old != nullptr && *old != 0 ? std::string(old) + ":" + library : library;
  setenv("LD_PRELOAD", all.c_str(), 1);
  setenv("SOFTRNIC_SYSFS", path.c_str(), 1);
  return {};
}

/// What the program's process sends to the keeper of its files, with the folder's descriptor.
struct Moved {
  pid_t program = 0;
  std::array<char, 64> mount_namespace{};
};

/// Nothing of the program stays open here: who reads its output waits for its end alone.
void let_go_of_descriptors(const UniqueFd& kept) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) dup2(null, fd);
  if (kept.get() > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, kept.get() - 1, 0);
  close_range(kept.get() + 1, ~0U, 0);
}

[[noreturn]] void keep(UniqueFd socket, const std::string& device) {
  control::leave_terminal();
  prctl(PR_SET_NAME, "softrnic-sysfs");
  static_cast<void>(!chdir("/"));
  let_go_of_descriptors(socket);
  Moved moved;
  control::Datagram came;
  const int error = control::receive_datagram(
      socket.get(), MutableBytes(reinterpret_cast<std::byte*>(&moved), sizeof moved), came);
  if (error != 0 || came.size != sizeof moved || came.fd_count == 0) _exit(1);
  moved.mount_namespace.back() = 0;
  sysfs::keep_up_to_date(came.fds[0].get(), moved.program, moved.mount_namespace.data(), device);
  _exit(0);
}

/// A process that is no child of the program's, which may wait for its children.
UniqueFd start_keeper(const std::string& device) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    ours.reset();
    if (fork() == 0) keep(std::move(theirs), device);
    _exit(0);
  }
  if (child < 0) return {};
  waitpid(child, nullptr, 0);
  return ours;
}

Trouble prepare_namespace(control::Client& client, const std::string& device) {
  const auto told = [](const sysfs::NamespaceTrouble& trouble) {
    return std::string(trouble.step) + ": " + std::strerror(trouble.error);
  };
  if (const auto allowed = sysfs::try_namespace(); !allowed) return told(allowed.error());
  const auto facts = sysfs::gather(client, sysfs::Wanted::state_and_counters, device);
  if (!facts) return "the daemon does not answer";
  // before this process leaves: the daemon shows the keeper what it would not show to one in there
  const UniqueFd keeper = start_keeper(device);
  if (!keeper) return std::string("fork(2): ") + std::strerror(errno);
  const auto folder = sysfs::enter_namespace();
  if (!folder) return told(folder.error());
  if (const int error = sysfs::write_all(folder->get(), sysfs::make_tree(*facts)))
    return std::strerror(error);
  Moved moved{getpid(), {}};
  sysfs::mount_namespace_of(0).copy(moved.mount_namespace.data(), moved.mount_namespace.size() - 1);
  const int error = control::send_datagram(
      keeper.get(), Bytes(reinterpret_cast<const std::byte*>(&moved), sizeof moved), folder->get());
  return error == 0 ? Trouble() : Trouble(std::strerror(error));
}

}  // namespace

std::optional<SysfsWay> parse_sysfs_way(std::string_view word) {
  constexpr std::pair<std::string_view, SysfsWay> words[] = {{"auto", SysfsWay::automatic},
                                                             {"preload", SysfsWay::preload},
                                                             {"namespace", SysfsWay::mount_namespace},
                                                             {"none", SysfsWay::none}};
  for (const auto& [name, way] : words)
    if (name == word) return way;
  return std::nullopt;
}

bool show_devices(SysfsWay way, control::Client& client, const std::string& program,
                  const std::string& device, const std::string& libraries, bool explain) {
  const bool asked_for = way != SysfsWay::automatic;
  if (!asked_for) way = choose(doctor::look_at(doctor::find_program(program)));
  Trouble trouble;
  if (way == SysfsWay::preload) trouble = prepare_preload(client, device, libraries);
  if (way == SysfsWay::mount_namespace) trouble = prepare_namespace(client, device);
  if (!asked_for && way == SysfsWay::none)
    trouble = "this kind of program is reached by --sysfs namespace alone";
  if (trouble.empty()) return true;
  if (asked_for || explain) complain("no devices under /sys and /dev: " + trouble);
  return !asked_for;
}

}  // namespace softrnic::cli
