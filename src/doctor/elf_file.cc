#include "doctor/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

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

using Segments = std::vector<ElfW(Phdr)>;

Segments segments_in(int fd, const ElfW(Ehdr) & header) {
  Segments segments;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(fd, header.e_phoff + i * sizeof segment, segment)) break;
    segments.push_back(segment);
  }
  return segments;
}

/// As much of a segment as `most` bytes.
std::vector<char> content(int fd, const ElfW(Phdr) & segment, std::size_t most) {
  std::vector<char> bytes(std::min<std::size_t>(segment.p_filesz, most));
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(segment.p_offset));
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

std::string interpreter_in(int fd, const Segments& segments) {
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    const std::vector<char> path = content(fd, segment, PATH_MAX);
    return {path.begin(), std::ranges::find(path, 0)};
  }
  return {};
}

/// Whether one of the notes is of that owner. They stand one behind the other (System V ABI, Note Section),
/// and linkers put their own first.
bool has_note_of(std::string_view owner, std::span<const char> notes, std::size_t alignment) {
  const auto padded = [alignment](std::uint64_t size) {
    return (size + alignment - 1) / alignment * alignment;
  };
  ElfW(Nhdr) note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    if (note.n_namesz > notes.size()) return false;
    const std::string_view name(notes.data(), note.n_namesz);
    if (name.substr(0, name.find('\0')) == owner) return true;  // Go counts its padding, others do not
    const std::uint64_t rest = padded(note.n_namesz) + padded(note.n_descsz);
    if (rest > notes.size()) return false;
    notes = notes.subspan(rest);
  }
  return false;
}

/// Go's linker leaves a note (its build ID), unless told not to, and what `go version` reads: in the first
/// writable segment, at a multiple of 16 bytes (package debug/buildinfo).
bool is_made_by_go(int fd, const Segments& segments) {
  constexpr std::size_t kMostNotes = 64 << 10, kMostData = 64 << 10, kStep = 16;
  constexpr std::string_view kBuildInfo = "\xff Go buildinf:";
  for (const ElfW(Phdr) & segment : segments)
    if (segment.p_type == PT_NOTE &&
        has_note_of("Go", content(fd, segment, kMostNotes), segment.p_align == 8 ? 8 : 4))
      return true;
  const auto data = std::ranges::find_if(segments, [](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & (PF_W | PF_X)) == PF_W;
  });
  if (data == segments.end()) return false;
  const std::vector<char> bytes = content(fd, *data, kMostData);
  for (std::size_t at = 0; at + kBuildInfo.size() <= bytes.size(); at += kStep)
    if (std::string_view(bytes.data() + at, kBuildInfo.size()) == kBuildInfo) return true;
  return false;
}

std::uint64_t offset_of(const Segments& segments, std::uint64_t address) {
  for (const ElfW(Phdr) & segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  return 0;
}

/// Whether a library whose name begins so is among those that the program names.
bool needs(int fd, const Segments& segments, std::string_view library) {
  constexpr std::size_t kMostEntries = 1024;
  std::vector<std::uint64_t> names;
  std::uint64_t strings = 0;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::size_t i = 0; i < std::min<std::size_t>(segment.p_filesz / sizeof(ElfW(Dyn)), kMostEntries);
         ++i) {
      ElfW(Dyn) entry{};
      if (!read_at(fd, segment.p_offset + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = offset_of(segments, entry.d_un.d_ptr);
    }
  }
  for (const std::uint64_t name : names) {
    std::array<char, 64> text{};
    if (pread(fd, text.data(), text.size() - 1, static_cast<off_t>(strings + name)) > 0 &&
        std::string_view(text.data()).starts_with(library))
      return true;
  }
  return false;
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string found = (folder.empty() ? "." : folder) + "/" + name;
    if (access(found.c_str(), X_OK) == 0) return found;
  }
  return name;
}

ElfFile look_at(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return {};
  ElfW(Ehdr) header{};
  if (!read_at(file.get(), 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return {ProgramKind::not_elf, {}};
  const unsigned own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != own_class || (kOwnMachine != EM_NONE && header.e_machine != kOwnMachine))
    return {ProgramKind::other_machine, {}};
  const Segments segments = segments_in(file.get(), header);
  ElfFile out{ProgramKind::dynamic, interpreter_in(file.get(), segments), is_made_by_go(file.get(), segments),
              needs(file.get(), segments, "libasan.so")};
  if (out.interpreter.empty()) {
    out.kind = ProgramKind::without_loader;
  } else if (out.interpreter.find("/ld-musl") != std::string::npos) {
    out.kind = ProgramKind::other_libc;
  } else if (is_privileged(file.get())) {
    out.kind = ProgramKind::privileged;
  }
  return out;
}

}  // namespace softrnic::doctor
