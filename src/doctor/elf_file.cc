#include "doctor/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/unique_fd.h"

namespace softrnic::doctor {
namespace {

constexpr ElfW(Half) kOwnMachine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#else
    EM_NONE;
#endif

template <typename T>
bool read_at(int fd, std::uint64_t offset, T& out) {
  return pread(fd, &out, sizeof out, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof out);
}

bool is_privileged(int fd) {
  struct stat status {};
  if (fstat(fd, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return fgetxattr(fd, "security.capability", nullptr, 0) > 0;
}

std::string interpreter_in(int fd, const ElfW(Ehdr) & header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(fd, header.e_phoff + i * sizeof segment, segment)) break;
    std::array<char, 256> path{};
    if (segment.p_type != PT_INTERP || segment.p_filesz >= path.size()) continue;
    if (pread(fd, path.data(), segment.p_filesz, static_cast<off_t>(segment.p_offset)) > 0)
      return path.data();
  }
  return {};
}

}  // namespace

ElfFile look_at(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return {};
  ElfW(Ehdr) header{};
  if (!read_at(file.get(), 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return {ProgramKind::not_elf, {}};
  const unsigned own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != own_class || (kOwnMachine != EM_NONE && header.e_machine != kOwnMachine))
    return {ProgramKind::other_machine, {}};
  const std::string interpreter = interpreter_in(file.get(), header);
  if (interpreter.empty()) return {ProgramKind::without_loader, {}};
  if (interpreter.find("/ld-musl") != std::string::npos) return {ProgramKind::other_libc, interpreter};
  return {is_privileged(file.get()) ? ProgramKind::privileged : ProgramKind::dynamic, interpreter};
}

}  // namespace softrnic::doctor
