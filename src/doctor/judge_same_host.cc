// What decides which way data takes between two programs of this host.
#include <cerrno>

#include "doctor/judges.h"
#include "doctor/words.h"

namespace softrnic::doctor {
namespace {

constexpr const char* kFilterCure =
    "let the filter pass them (docker --security-opt seccomp=FILE, --cap-add SYS_PTRACE; SystemCallFilter=)";

bool is_filtered(int error) { return error == ENOSYS || error == EPERM; }

bool lacks_call(const SameHostFacts& here, std::string_view name) {
  for (const CallFacts& call : here.calls)
    if (call.name == name && call.error != 0) return true;
  return false;
}

}  // namespace

Finding judge_seccomp(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  std::vector<std::string> refused, uses;
  bool kills = false;
  for (const CallFacts& call : here.calls) {
    if (call.error == 0) continue;
    kills |= call.error == kKilled;
    refused.emplace_back(call.name);
    if (uses.empty() || uses.back() != call.use) uses.emplace_back(call.use);
  }
  if (refused.empty())
    return good(fmt::format("{}; {} system calls tried, all are there",
                            here.filtered ? "a filter" : "no filter", here.calls.size()));
  const std::string seen = fmt::format(
      "{} {}", here.filtered ? "the filter refuses" : "the kernel does not have", joined(refused));
  if (kills) return broken(seen, "it ends programs that try these calls, which softrnic does", kFilterCure);
  return slow(seen, joined(uses), here.filtered ? kFilterCure : "run a newer kernel");
}

Finding judge_attach(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  if (!here.attach_tried)
    return not_checked("", "no two processes could be started", "raise the limit of processes (ulimit -u)");
  if (!here.dumpable)
    return slow("this process is not dumpable", "nobody may attach to it, so its data goes by UDP packets",
                "leave PR_SET_DUMPABLE as it is; fs.suid_dumpable, file capabilities");
  if (here.descriptor_error != 0 || (here.memory_error != 0 && !here.descriptor_attached)) {
    const int error = here.descriptor_error != 0 ? here.descriptor_error : here.memory_error;
    return slow(error_text(error),
                "a process may not attach to another of this user: data goes by UDP packets",
                here.yama.value_or(0) > 0 ? "see Yama" : "see seccomp, namespaces; ptrace(2)");
  }
  if (here.memory_error != 0)
    return slow(error_text(here.memory_error),
                "process_vm_readv and process_vm_writev fail: data goes by packets through shared memory",
                is_filtered(here.memory_error) ? "see seccomp" : "see ptrace(2)");
  if (!here.proc_memory)
    return slow("read and written, but not by /proc/PID/mem", "short READs and WRITEs take longer",
                "mount /proc for reading and writing, without hidepid for this user");
  return good("read and written by another process of this user: the direct path");
}

Finding judge_yama(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  if (!here.yama)
    return good(here.proc ? "not in this kernel" : "cannot be seen without /proc; see memory of peers");
  const std::string seen = fmt::format("kernel.yama.ptrace_scope {}", *here.yama);
  if (*here.yama == 0) return good(seen);
  if (here.attach_tried && here.memory_error == 0 && here.descriptor_error == 0)
    return good(seen + ", which does not bind this user (CAP_SYS_PTRACE)");
  return slow(seen, "programs may not attach to each other: no direct path, data goes by UDP packets",
              "as root: sysctl -w kernel.yama.ptrace_scope=0");
}

Finding judge_rseq(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  if (here.rseq) return good("registered by the C library");
  return slow("not registered",
              "programs that have it let nobody without at their memory: data goes by packets through shared "
              "memory",
              lacks_call(here, "rseq")
                  ? "see seccomp"
                  : "glibc 2.35 or newer, and no glibc.pthread.rseq=0 in GLIBC_TUNABLES");
}

Finding judge_memfd(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  if (here.memfd_error == 0) return good(bytes_text(here.memfd_bytes) + " made, sealed and mapped");
  return slow(
      error_text(here.memfd_error),
      "programs share no memory: data goes by UDP packets, `softrnic stat` and `explain` show nothing",
      lacks_call(here, "memfd_create") ? "see seccomp" : "raise limits: ulimit -f, -v; memory of the cgroup");
}

Finding judge_proc(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  if (!here.proc)
    return slow("none, or of another PID namespace",
                "shared memory of programs is not mapped by peers, short messages take longer, holders of a "
                "port stay unnamed",
                "mount -t proc proc /proc");
  const std::string hidden = here.proc_hidepid.empty() ? "" : ", hidepid=" + here.proc_hidepid;
  if (!here.mapping_seen && here.memfd_error == 0)
    return slow("mounted" + hidden, "it does not tell of mappings: shared memory is not mapped by peers",
                "allow /proc/self/maps");
  if (!here.proc_hidepid.empty() && here.attach_tried && !here.proc_memory)
    return slow("mounted" + hidden, "it hides peers of this user: short messages take longer",
                "mount it without hidepid=ptraceable, or with gid= of this user");
  return good("mounted" + hidden);
}

Finding judge_files(const Facts& facts) {
  const SameHostFacts& here = facts.same_host;
  return good(fmt::format("root {}, /dev/shm {}; not needed: softrnic writes no files, its memory is memfds",
                          here.root_read_only ? "read-only" : "writable",
                          here.dev_shm ? "writable" : "not writable"));
}

}  // namespace softrnic::doctor
