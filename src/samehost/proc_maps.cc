#include "samehost/proc_maps.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"
#include "base/unique_file.h"

namespace softrnic::samehost {
namespace {

/// struct procmap_query of linux/fs.h, which older headers lack.
struct MappingQuery {
  std::uint64_t size = sizeof(MappingQuery);
  std::uint64_t query_flags = 0;
  std::uint64_t query_addr = 0;
  std::uint64_t vma_start = 0;
  std::uint64_t vma_end = 0;
  std::uint64_t vma_flags = 0;
  std::uint64_t vma_page_size = 0;
  std::uint64_t vma_offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t dev_major = 0;
  std::uint32_t dev_minor = 0;
  std::uint32_t vma_name_size = 0;
  std::uint32_t build_id_size = 0;
  std::uint64_t vma_name_addr = 0;
  std::uint64_t build_id_addr = 0;
};
constexpr unsigned long kQueryMapping = _IOWR('f', 17, MappingQuery);
constexpr std::uint64_t kWritable = 0x02, kShared = 0x08;

constexpr std::size_t kNameBytes = 4096;  ///< PATH_MAX
constexpr std::size_t kLineBytes = kNameBytes + 128;
constexpr std::uint64_t kPageOfFile = 1ULL << 61;  ///< in /proc/PID/pagemap: of a file or shared

/// Whether the page may be of a shared mapping.
bool may_be_shared(std::uint64_t address) {
  const UniqueFd pages(above_stdio(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)));
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto place = static_cast<off_t>(address / page * sizeof(std::uint64_t));
  const auto entry = [&](std::uint64_t& out) {
    return pread(pages.get(), &out, sizeof out, place) == static_cast<ssize_t>(sizeof out);
  };
  std::uint64_t bits = 0;
  if (!entry(bits)) return true;
#ifdef MADV_POPULATE_READ
  if (bits == 0) {  // not there yet
    if (madvise(reinterpret_cast<void*>(address / page * page), page, MADV_POPULATE_READ) != 0 ||
        !entry(bits))
      return true;
  }
#else
  if (bits == 0) return true;
#endif
  return (bits & kPageOfFile) != 0;
}

bool parse_line(const char* line, Mapping& out) {
  char rights[5] = {};
  unsigned major = 0;
  unsigned minor = 0;
  int name = 0;
  const int fields =
      std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &out.start, &out.end,
                  rights, &out.offset, &major, &minor, &out.inode, &name);
  if (fields != 7) return false;
  out.device = makedev(major, minor);
  out.writable = rights[1] == 'w';
  out.shared = rights[3] == 's';
  out.name.assign(line + name, std::strcspn(line + name, "\n"));
  return true;
}

}  // namespace

std::optional<Mapping> ask_for_mapping(std::uint64_t address, bool& supported) {
  const UniqueFd maps(above_stdio(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)));
  std::array<char, kNameBytes> name{};
  MappingQuery query;
  query.query_addr = address;
  query.vma_name_addr = reinterpret_cast<std::uint64_t>(name.data());
  query.vma_name_size = name.size();
  const bool found = maps && ioctl(maps.get(), kQueryMapping, &query) == 0;
  supported = found || (maps && errno != ENOTTY && errno != EINVAL);
  if (!found) return std::nullopt;
  return Mapping{query.vma_start,
                 query.vma_end,
                 query.vma_offset,
                 makedev(query.dev_major, query.dev_minor),
                 query.inode,
                 (query.vma_flags & kWritable) != 0,
                 (query.vma_flags & kShared) != 0,
                 query.vma_name_size != 0 ? name.data() : ""};
}

std::optional<Mapping> look_for_mapping(std::uint64_t address) {
  if (!may_be_shared(address)) return std::nullopt;
  const UniqueFile list(std::fopen("/proc/self/maps", "re"));
  if (list == nullptr) return std::nullopt;
  std::array<char, kLineBytes> line{};
  Mapping mapping;
  while (std::fgets(line.data(), static_cast<int>(line.size()), list.get()) != nullptr) {
    if (!parse_line(line.data(), mapping) || mapping.end <= address) continue;
    if (mapping.start > address) break;
    return mapping;
  }
  return std::nullopt;
}

std::optional<Mapping> mapping_at(std::uint64_t address) {
  bool supported = false;
  auto mapping = ask_for_mapping(address, supported);
  return supported ? mapping : look_for_mapping(address);
}

}  // namespace softrnic::samehost
