// What the kernel and the loader read of a program before it runs.
#pragma once

#include <string>

#include "doctor/facts.h"

namespace softrnic::doctor {

struct ElfFile {
  ProgramKind kind = ProgramKind::not_found;
  std::string interpreter;  ///< of a dynamic one
  bool is_go = false;       ///< its own code makes system calls without the C library
  bool needs_asan = false;  ///< AddressSanitizer as a library, which has to be the first that is loaded
};
ElfFile look_at(const std::string& path);

/// The path that execvp(3) finds for `name`; `name` itself when it finds none.
std::string find_program(const std::string& name);

}  // namespace softrnic::doctor
