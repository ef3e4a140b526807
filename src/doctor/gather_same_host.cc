// Whether two processes of this user reach each other's memory, by the code that programs do it with.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/descriptor_name.h"
#include "control/shared_memory.h"
#include "daemon/credentials.h"
#include "doctor/child.h"
#include "doctor/gather.h"
#include "doctor/small_files.h"
#include "samehost/direct_layout.h"
#include "samehost/foreign_descriptor.h"
#include "samehost/proc_maps.h"
#include "samehost/remote_memory.h"
#include "samehost/revocable_access.h"

namespace softrnic::doctor {
namespace {

/// What a process tells the other one.
struct Shown {
  samehost::CookieAddress cookie;
  DescriptorName descriptor;
};

struct Reached {
  int descriptor_error;
  bool attached;
  int memory_error;
  bool proc_memory;
};

/// The one whose memory is reached: shows itself, and lives until nobody writes to `until` any more.
void be_reached(int show, int until) {
  const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  auto cookie = samehost::Cookie::open();
  if (!cookie) return;
  const Shown shown{cookie->address(), softrnic::name_of(file.get())};
  char scrap;
  if (write(show, &shown, sizeof shown) == sizeof shown) static_cast<void>(read(until, &scrap, 1) == 0);
}

Reached reach(pid_t pid, const Shown& shown) {
  Reached found{};
  const auto descriptor = samehost::take_descriptor(pid, shown.descriptor);
  found.descriptor_error = descriptor ? 0 : descriptor.error();
  found.attached = descriptor && descriptor->attached;
  const auto memory = samehost::RemoteMemory::open(pid, shown.cookie);
  found.memory_error = memory ? 0 : memory.error();
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  found.proc_memory = static_cast<bool>(UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC)));
  return found;
}

void gather_attach(SameHostFacts& here) {
  here.dumpable = prctl(PR_GET_DUMPABLE) == 1;
  Pipe show = make_pipe(), until = make_pipe();
  if (!show || !until) return;
  const pid_t pid = fork();
  if (pid == 0) {
    until.writing.reset();
    be_reached(show.writing.get(), until.reading.get());
    _exit(0);
  }
  const Child target(pid);
  show.writing.reset();
  const auto bytes = pid < 0 ? std::nullopt : read_all(show.reading.get(), sizeof(Shown));
  if (!bytes || bytes->size() != sizeof(Shown)) return;
  Shown shown;
  std::memcpy(&shown, bytes->data(), sizeof shown);
  const auto found = in_child([&] { return reach(target.pid(), shown); });
  if (!found) return;
  here.attach_tried = true;
  here.descriptor_error = found->descriptor_error;
  here.descriptor_attached = found->attached;
  here.memory_error = found->memory_error;
  here.proc_memory = found->proc_memory;
}

void gather_memfd(SameHostFacts& here) {
  here.memfd_bytes = samehost::InboxMemory::size_with_rings(1);
  const UniqueFd file = control::make_shared_memory("doctor", here.memfd_bytes);
  if (!file) {
    here.memfd_error = errno;
    return;
  }
  void* const place = control::map_shared_memory(file.get(), samehost::InboxMemory::size(1));
  here.memfd_error = place == nullptr ? errno : 0;
  if (place == nullptr) return;
  const auto mapping = samehost::mapping_at(reinterpret_cast<std::uint64_t>(place));
  here.mapping_seen = mapping && mapping->shared;
  munmap(place, samehost::InboxMemory::size(1));
  const control::OwnedMemory owned = control::make_owned_memory("doctor", samehost::DirectMemory::size(1));
  if (owned.place == nullptr) here.memfd_error = errno;
  if (owned.place != nullptr) munmap(owned.place, samehost::DirectMemory::size(1));
}

void gather_proc(SameHostFacts& here) {
  here.proc = daemon::proc_is_ours();
  here.proc_hidepid = parse_hidepid(text_of("/proc/self/mountinfo"));
  if (const auto scope = number_in("/proc/sys/kernel/yama/ptrace_scope"))
    here.yama = static_cast<int>(*scope);
}

}  // namespace

std::string parse_hidepid(const std::string& mountinfo) {
  std::string found;
  for (std::size_t at = 0; at < mountinfo.size();) {
    const std::size_t end = std::min(mountinfo.find('\n', at), mountinfo.size());
    const std::string_view line(mountinfo.data() + at, end - at);
    at = end + 1;
    // ID parent device root /proc options … - proc source super-options: the last mount there counts
    if (line.find(" /proc ") == std::string_view::npos || line.find(" - proc ") == std::string_view::npos)
      continue;
    const std::size_t option = line.find("hidepid=");
    const std::string_view value =
        option == std::string_view::npos ? std::string_view() : line.substr(option + std::strlen("hidepid="));
    found = value.substr(0, value.find(','));
    if (found == "off" || found == "0") found.clear();
  }
  return found;
}

SameHostFacts gather_same_host() {
  SameHostFacts here;
  gather_calls(here);
  gather_attach(here);
  gather_memfd(here);
  gather_proc(here);
  here.rseq = samehost::accesses_are_revocable();
  struct statvfs root {};
  here.root_read_only = statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY) != 0;
  here.dev_shm = access("/dev/shm", W_OK) == 0;
  return here;
}

}  // namespace softrnic::doctor
