#include "sysfs/preload/redirect.h"

#include <cstring>

namespace softrnic::sysfs {
namespace {

constexpr const char* kRedirected[] = {"/sys/class/infiniband", "/sys/class/infiniband_verbs",
                                       "/sys/class/infiniband_mad", "/dev/infiniband"};

/// The end of the name that begins at `at`.
const char* end_of_name(const char* at) {
  while (*at != 0 && *at != '/') ++at;
  return at;
}

bool is_dots(const char* name, std::size_t length, std::size_t dots) {
  return length == dots && std::strncmp(name, "..", dots) == 0;
}

/// The length of the folder of ours that `plain` is or is below; 0: of none.
std::size_t folder_of(const char* plain) {
  for (const char* folder : kRedirected) {
    const std::size_t length = std::strlen(folder);
    if (std::strncmp(plain, folder, length) == 0 && (plain[length] == 0 || plain[length] == '/'))
      return length;
  }
  return 0;
}

}  // namespace

bool is_ours(const char* path, char* plain, std::size_t size) {
  if (path == nullptr || path[0] != '/') return false;
  // nearly every path of a program ends here
  const char* first = path;
  while (*first == '/') ++first;
  if (*first != 's' && *first != 'd' && *first != '.') return false;
  std::size_t used = 0;
  for (const char* name = path; *name != 0;) {
    while (*name == '/') ++name;
    const char* const end = end_of_name(name);
    const auto length = static_cast<std::size_t>(end - name);
    // above our folders ".." may cross a link, which only the kernel knows; below them it goes to the kernel
    plain[used] = 0;
    if (is_dots(name, length, 2)) {
      if (folder_of(plain) == 0 || folder_of(plain) == used) return false;
      while (plain[used] != '/') --used;
      plain[used] = 0;
    } else if (length != 0 && !is_dots(name, length, 1)) {
      if (used + length + 2 > size) return false;
      plain[used++] = '/';
      std::memcpy(plain + used, name, length);
      used += length;
    }
    name = end;
  }
  plain[used] = 0;
  return folder_of(plain) != 0;
}

bool join(const char* root, const char* plain, char* out, std::size_t size) {
  const std::size_t first = std::strlen(root), second = std::strlen(plain);
  if (first + second >= size) return false;
  std::memcpy(out, root, first);
  std::memcpy(out + first, plain, second + 1);
  return true;
}

const char* behind(const char* root, const char* path) {
  const std::size_t length = std::strlen(root);
  if (length == 0 || std::strncmp(root, path, length) != 0) return nullptr;
  return path[length] == 0 || path[length] == '/' ? path + length : nullptr;
}

}  // namespace softrnic::sysfs
