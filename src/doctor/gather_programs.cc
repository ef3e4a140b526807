// Which libraries the dynamic loader takes, asked of the loader itself.
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/settings.h"
#include "doctor/child.h"
#include "doctor/elf_file.h"
#include "doctor/gather.h"
#include "link/fault_plan.h"

namespace softrnic::doctor {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string with(std::string first, const std::string& then, char between) {
  if (!first.empty() && !then.empty()) first += between;
  return first + then;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/// The C library, which has an interpreter, and no RPATH: what is found for it is found for any program.
std::string c_library() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&std::puts), &info) != 0;
  return found && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::vector<std::string> environment_with(const std::string& library_path, const std::string& preload) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("LD_LIBRARY_PATH=") && !text.starts_with("LD_PRELOAD=")) out.emplace_back(text);
  }
  out.push_back("LD_LIBRARY_PATH=" + library_path);
  out.push_back("LD_PRELOAD=" + preload);
  return out;
}

/// A preloaded name is looked for as one that the program needs, whether it does or loads it later.
LoadFacts ask_loader(const std::string& interpreter, const std::string& program,
                     const std::string& library_path, const std::string& library_folder) {
  std::string preload = variable("LD_PRELOAD");
  for (const std::string_view name : kLibraries) preload = with(preload, std::string(name), ' ');
  const auto text = output_of({interpreter, "--list", program}, environment_with(library_path, preload));
  return text ? parse_loader_list(*text, library_folder) : LoadFacts();
}

bool names_ours(const std::string& library_path, const std::string& library_folder) {
  std::istringstream folders(library_path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && same_file(folder, library_folder)) return true;
  return false;
}

/// A library that `softrnic run` preloads is in nobody's way.
void gather_preload(ProgramFacts& program) {
  std::string text = with(variable("LD_PRELOAD"), variable("LD_AUDIT"), ' ');
  std::replace(text.begin(), text.end(), ':', ' ');  // either parts them: ld.so(8)
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string name = word.substr(word.rfind('/') + 1);
    const bool own = !program.library_folder.empty() && same_file(word, program.library_folder + "/" + name);
    std::string& list = own ? program.own_preload : program.preload;
    list = with(list, word, ' ');
  }
}

void gather_settings(ProgramFacts& program) {
  const Settings parsed = parse_settings(environ, program.setting_warnings);
  program.faults = parsed.faults;
  program.capture = !parsed.capture.empty();
  program.wire_only = parsed.wire_only;
  program.device = parsed.device;
  if (const auto plan = link::parse_fault_plan(parsed.faults); !plan) program.faults_trouble = plan.error();
  gather_preload(program);
}

}  // namespace

LoadFacts parse_loader_list(const std::string& text, const std::string& library_folder) {
  LoadFacts load;
  for (const std::string_view name : kLibraries) load.libraries.push_back({std::string(name), {}, false});
  const auto find = [&load](const std::string& name) -> LibraryFacts* {
    for (LibraryFacts& library : load.libraries)
      if (library.name == name) return &library;
    return nullptr;
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, arrow, path;
    words >> name >> arrow >> path;
    load.asked |= line.starts_with('\t');
    // ERROR: ld.so: object 'NAME' from LD_PRELOAD cannot be preloaded (…): ignored.
    if (const std::size_t quote = line.find("object '"); name == "ERROR:" && quote != std::string::npos) {
      const std::string object = line.substr(quote + 8, line.find('\'', quote + 8) - quote - 8);
      if (find(object) == nullptr) load.missing.push_back(object);
    } else if (arrow == "=>" && path == "not") {
      load.missing.push_back(name);
    } else if (LibraryFacts* const library = find(name); library != nullptr && arrow == "=>") {
      library->path = path;
      library->ours = !library_folder.empty() && same_file(path, library_folder + "/" + name);
    }
  }
  return load;
}

ProgramFacts gather_program(const Wanted& wanted) {
  ProgramFacts program;
  program.library_folder = wanted.library_folder;
  gather_settings(program);
  program.path = wanted.program.empty() ? "" : find_program(wanted.program);
  const ElfFile own = look_at(c_library());
  const ElfFile file = program.path.empty() ? own : look_at(program.path);
  if (!program.path.empty()) program.kind = file.kind;
  if (file.kind != ProgramKind::dynamic) return program;
  if (!same_file(file.interpreter, own.interpreter)) {  // whoever made the program has named it
    program.kind = ProgramKind::other_loader;
    return program;
  }
  const std::string asked = program.path.empty() ? c_library() : program.path;
  const std::string path = variable("LD_LIBRARY_PATH");
  program.folder_in_path = names_ours(path, wanted.library_folder);
  program.by_run =
      ask_loader(file.interpreter, asked, with(wanted.library_folder, path, ':'), wanted.library_folder);
  program.plain = ask_loader(file.interpreter, asked, path, wanted.library_folder);
  return program;
}

}  // namespace softrnic::doctor
