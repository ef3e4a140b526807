// What the kernel and the loader read of a program before it runs.
#pragma once

#include <string>

#include "doctor/facts.h"

namespace softrnic::doctor {

struct ElfFile {
  ProgramKind kind = ProgramKind::not_found;
  std::string interpreter;  ///< of a dynamic one
};
ElfFile look_at(const std::string& path);

}  // namespace softrnic::doctor
