// What a program loads, and what its environment asks for.
#include "doctor/judges.h"
#include "doctor/words.h"

namespace softrnic::doctor {
namespace {

std::string folder_of(const LibraryFacts& library) {
  if (library.ours) return "softrnic's";
  return library.path.empty() ? "not found" : library.path.substr(0, library.path.rfind('/'));
}

/// "softrnic's: libibverbs.so.1, librdmacm.so.1; /usr/lib: libibumad.so.3"
std::string where(const LoadFacts& load) {
  std::string out, folder;
  for (const LibraryFacts& library : load.libraries) {
    const std::string own = folder_of(library);
    out += own == folder ? ", " : (out.empty() ? "" : "; ") + own + ": ";
    out += library.name;
    folder = own;
  }
  return out;
}

std::size_t own_libraries(const LoadFacts& load) {
  std::size_t count = 0;
  for (const LibraryFacts& library : load.libraries) count += library.ours ? 1 : 0;
  return count;
}

std::string named(const ProgramFacts& program) { return program.path.empty() ? "programs" : program.path; }

/// Why a program cannot be given other libraries; `because` empty: it can.
Finding judge_kind(const ProgramFacts& program) {
  const std::string& seen = program.path;
  const auto no = [&](const char* because, const char* cure) { return broken(seen, because, cure); };
  switch (program.kind) {
    case ProgramKind::not_found:
      return no("there is no such program", "name it with its path");
    case ProgramKind::not_elf:
      return not_checked(seen, "it is no ELF program: a script loads what its interpreter does",
                         "name the program that it runs");
    case ProgramKind::other_machine:
      return no("it is for another kind of processor than softrnic's libraries",
                "build softrnic for that processor");
    case ProgramKind::without_loader:
      return no("it is linked statically and loads no library", "link it dynamically with libibverbs");
    case ProgramKind::other_libc:
      return no("it is not linked with glibc, for which softrnic's libraries are", "use its glibc build");
    case ProgramKind::other_loader:
      return not_checked(seen, "its dynamic loader is not the one of this host, and is not run to ask it",
                         "LD_DEBUG=libs softrnic run -- PROGRAM 2>&1 | grep ibverbs");
    case ProgramKind::privileged:
      return no("the loader ignores LD_LIBRARY_PATH of programs with the set-user-ID bit or capabilities",
                "run a copy without them: softrnic needs no privilege");
    default:
      return good(seen);
  }
}

}  // namespace

Finding judge_libraries(const Facts& facts) {
  const ProgramFacts& program = facts.program;
  if (program.library_folder.empty())
    return broken("no libibverbs.so.1 beside this command", "softrnic is not installed completely",
                  "cmake --install, or run the command from its build folder");
  if (Finding kind = judge_kind(program); kind.outcome != Outcome::good) return kind;
  const LoadFacts& load = program.by_run;
  if (!load.asked)
    return not_checked(named(program), "the dynamic loader did not answer",
                       "LD_DEBUG=libs softrnic run -- PROGRAM 2>&1 | grep ibverbs");
  if (own_libraries(load) < kOwnLibraries)
    return broken(where(load), "another library is found before softrnic's: an RPATH or a preloaded library",
                  "remove it (patchelf --remove-rpath, unset LD_PRELOAD)");
  if (!load.missing.empty())
    return broken("not found: " + joined(load.missing), named(program) + " cannot start",
                  "install the packages of these libraries, or unset LD_PRELOAD if it names them");
  return good(where(load));
}

Finding judge_plain_libraries(const Facts& facts) {
  const ProgramFacts& program = facts.program;
  const LoadFacts& load = program.plain;
  if (!load.asked || judge_kind(program).outcome != Outcome::good)
    return not_checked(named(program), "the dynamic loader did not answer", "see above");
  const std::size_t own = own_libraries(load);
  const std::string cure = "put " + program.library_folder + " first in LD_LIBRARY_PATH, or use softrnic run";
  if (own != 0 && own < kOwnLibraries)
    return broken(where(load),
                  "these libraries do not belong together: devices of one are unknown to the other", cure);
  if (own == 0 && program.folder_in_path)
    return broken(where(load), "LD_LIBRARY_PATH names softrnic, but another library is found before", cure);
  return good(where(load) + (own == 0 ? "; only programs under `softrnic run` use softrnic" : ""));
}

Finding judge_settings(const Facts& facts) {
  const ProgramFacts& program = facts.program;
  if (!program.faults_trouble.empty())
    return broken("SOFTRNIC_FAULTS=" + program.faults, "no device opens: " + program.faults_trouble,
                  "correct it, or unset SOFTRNIC_FAULTS");
  if (!program.setting_warnings.empty())
    return broken(joined(program.setting_warnings), "what was asked for does not happen",
                  "correct or unset it: `softrnic env` shows all");
  if (!program.device.empty()) {
    bool there = !facts.daemon.reachable;  // then nobody knows
    for (const DeviceFacts& device : facts.devices) there |= device.info.name == program.device;
    if (!there && facts.only_device.empty())
      return broken("SOFTRNIC_DEVICE=" + program.device, "there is no such device, so programs see none",
                    "unset it, or name one that `softrnic dev` shows");
  }
  std::vector<std::string> in_the_way;
  if (program.wire_only) in_the_way.emplace_back("SOFTRNIC_PATH=wire");
  if (!program.faults.empty()) in_the_way.push_back("SOFTRNIC_FAULTS=" + program.faults);
  if (program.capture) in_the_way.emplace_back("SOFTRNIC_CAPTURE");
  if (!in_the_way.empty())
    return slow(joined(in_the_way), "all data goes by UDP packets, between programs of this host too",
                "unset it when it is not wanted any more");
  return good("none that is unknown, malformed or slows");
}

Finding judge_preload(const Facts& facts) {
  const std::string& preload = facts.program.preload;
  if (preload.empty())
    return good(facts.program.own_preload.empty() ? "not set" : "softrnic's: " + facts.program.own_preload);
  return slow(preload, "what it defines comes before softrnic and the C library in every program",
              "unset LD_PRELOAD and LD_AUDIT unless they are meant");
}

}  // namespace softrnic::doctor
