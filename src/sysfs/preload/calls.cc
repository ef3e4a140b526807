// libsoftrnic-preload.so: the calls of the C library that name a file, with softrnic's files in the place
// of those that a kernel driver would show. Every other path goes on unchanged.
//
// Calls that change files are not here: under /sys and /dev/infiniband they fail as they did.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sysfs/preload/looked_up.h"
#include "sysfs/preload/redirect.h"

using softrnic::sysfs::LookedUp;

#define SOFTRNIC_PRELOADED extern "C" __attribute__((visibility("default")))

/// The C library's own.
#define SOFTRNIC_NEXT(name)                             \
  reinterpret_cast<decltype(&::name)>([] {              \
    static std::atomic<void*> known{nullptr};           \
    void* call = known.load(std::memory_order_relaxed); \
    if (call == nullptr) {                              \
      call = dlsym(RTLD_NEXT, #name);                   \
      known.store(call, std::memory_order_relaxed);     \
    }                                                   \
    return call;                                        \
  }())

// What the C library exports without telling in its headers: for fortified programs, and for those that
// were linked with a glibc before 2.33.
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
ssize_t __readlink_chk(const char* path, char* out, size_t length, size_t room);
ssize_t __readlinkat_chk(int folder, const char* path, char* out, size_t length, size_t room);
char* __realpath_chk(const char* path, char* out, size_t room);
int __xstat(int version, const char* path, struct stat* out);
int __xstat64(int version, const char* path, struct stat64* out);
int __lxstat(int version, const char* path, struct stat* out);
int __lxstat64(int version, const char* path, struct stat64* out);
int __fxstatat(int version, int folder, const char* path, struct stat* out, int flags);
int __fxstatat64(int version, int folder, const char* path, struct stat64* out, int flags);
}

namespace {

bool makes_file(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

/// What was opened by a relative path may be a file of ours, and old: then it is opened once more.
int fresh(int fd, const char* path, int flags) {
  char whole[PATH_MAX];
  if (fd < 0 || path == nullptr || path[0] == '/' || (flags & (O_ACCMODE | O_CREAT | O_PATH)) != O_RDONLY)
    return fd;
  if (!softrnic::sysfs::is_ours_by_descriptor(fd, whole)) return fd;
  const int again = SOFTRNIC_NEXT(open)(whole, flags);
  if (again < 0) return fd;
  static_cast<void>(dup3(again, fd, flags & O_CLOEXEC));
  close(again);
  return fd;
}

FILE* fresh(FILE* file, const char* path, const char* mode) {
  char whole[PATH_MAX];
  if (file == nullptr || path == nullptr || path[0] == '/' || mode[0] != 'r') return file;
  if (!softrnic::sysfs::is_ours_by_descriptor(fileno(file), whole)) return file;
  FILE* const again = SOFTRNIC_NEXT(fopen)(whole, mode);
  if (again == nullptr) return file;
  fclose(file);
  return again;
}

/// A path as the program would have it without us.
char* own_name(char* path) {
  const char* const root = softrnic::sysfs::root();
  const char* const rest = path != nullptr && root != nullptr ? softrnic::sysfs::behind(root, path) : nullptr;
  if (rest != nullptr && *rest != 0) std::memmove(path, rest, std::strlen(rest) + 1);
  return path;
}

/// glob(3) looks around by calls of its own, unless it is given others.
template <typename Call, typename Glob>
int glob_by(Call* next, Glob* out, const char* pattern, int flags, int (*error)(const char*, int)) {
  char plain[PATH_MAX];
  if (!softrnic::sysfs::is_ours(pattern, plain, sizeof plain) || (flags & GLOB_ALTDIRFUNC) != 0)
    return next(pattern, flags, error, out);
  out->gl_opendir = [](const char* path) -> void* { return opendir(path); };
  out->gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };
  out->gl_readdir = [](void* folder) {
    return decltype(out->gl_readdir(folder))(readdir(static_cast<DIR*>(folder)));
  };
  out->gl_stat = [](const char* path, auto* status) {
    return fstatat(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), 0);
  };
  out->gl_lstat = [](const char* path, auto* status) {
    return fstatat(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), AT_SYMLINK_NOFOLLOW);
  };
  return next(pattern, flags | GLOB_ALTDIRFUNC, error, out);
}
static_assert(sizeof(struct stat) == sizeof(struct stat64) && sizeof(dirent) == sizeof(dirent64));

}  // namespace

// ---- opening
#define SOFTRNIC_OPEN(name)                                                             \
  SOFTRNIC_PRELOADED int name(const char* path, int flags, ...) {                       \
    va_list arguments;                                                                  \
    va_start(arguments, flags);                                                         \
    const mode_t mode = makes_file(flags) ? va_arg(arguments, mode_t) : 0;              \
    va_end(arguments);                                                                  \
    return fresh(SOFTRNIC_NEXT(name)(LookedUp(path).path(), flags, mode), path, flags); \
  }
#define SOFTRNIC_OPENAT(name)                                                                   \
  SOFTRNIC_PRELOADED int name(int folder, const char* path, int flags, ...) {                   \
    va_list arguments;                                                                          \
    va_start(arguments, flags);                                                                 \
    const mode_t mode = makes_file(flags) ? va_arg(arguments, mode_t) : 0;                      \
    va_end(arguments);                                                                          \
    return fresh(SOFTRNIC_NEXT(name)(folder, LookedUp(path).path(), flags, mode), path, flags); \
  }
SOFTRNIC_OPEN(open)
SOFTRNIC_OPEN(open64)
SOFTRNIC_OPENAT(openat)
SOFTRNIC_OPENAT(openat64)

SOFTRNIC_PRELOADED int __open_2(const char* path, int flags) {
  return fresh(SOFTRNIC_NEXT(__open_2)(LookedUp(path).path(), flags), path, flags);
}
SOFTRNIC_PRELOADED int __open64_2(const char* path, int flags) {
  return fresh(SOFTRNIC_NEXT(__open64_2)(LookedUp(path).path(), flags), path, flags);
}
SOFTRNIC_PRELOADED int __openat_2(int folder, const char* path, int flags) {
  return fresh(SOFTRNIC_NEXT(__openat_2)(folder, LookedUp(path).path(), flags), path, flags);
}
SOFTRNIC_PRELOADED int __openat64_2(int folder, const char* path, int flags) {
  return fresh(SOFTRNIC_NEXT(__openat64_2)(folder, LookedUp(path).path(), flags), path, flags);
}

SOFTRNIC_PRELOADED FILE* fopen(const char* path, const char* mode) {
  return fresh(SOFTRNIC_NEXT(fopen)(LookedUp(path).path(), mode), path, mode);
}
SOFTRNIC_PRELOADED FILE* fopen64(const char* path, const char* mode) {
  return fresh(SOFTRNIC_NEXT(fopen64)(LookedUp(path).path(), mode), path, mode);
}
SOFTRNIC_PRELOADED FILE* freopen(const char* path, const char* mode, FILE* file) {
  return SOFTRNIC_NEXT(freopen)(LookedUp(path).path(), mode, file);
}
SOFTRNIC_PRELOADED FILE* freopen64(const char* path, const char* mode, FILE* file) {
  return SOFTRNIC_NEXT(freopen64)(LookedUp(path).path(), mode, file);
}

// ---- folders
SOFTRNIC_PRELOADED DIR* opendir(const char* path) { return SOFTRNIC_NEXT(opendir)(LookedUp(path).path()); }
SOFTRNIC_PRELOADED int chdir(const char* path) noexcept {
  return SOFTRNIC_NEXT(chdir)(LookedUp(path).path());
}
SOFTRNIC_PRELOADED int scandir(const char* path, dirent*** out, int (*wanted)(const dirent*),
                               int (*order)(const dirent**, const dirent**)) {
  return SOFTRNIC_NEXT(scandir)(LookedUp(path).path(), out, wanted, order);
}
SOFTRNIC_PRELOADED int scandir64(const char* path, dirent64*** out, int (*wanted)(const dirent64*),
                                 int (*order)(const dirent64**, const dirent64**)) {
  return SOFTRNIC_NEXT(scandir64)(LookedUp(path).path(), out, wanted, order);
}
SOFTRNIC_PRELOADED int glob(const char* pattern, int flags, int (*error)(const char*, int),
                            glob_t* out) noexcept {
  return glob_by(SOFTRNIC_NEXT(glob), out, pattern, flags, error);
}
SOFTRNIC_PRELOADED int glob64(const char* pattern, int flags, int (*error)(const char*, int),
                              glob64_t* out) noexcept {
  return glob_by(SOFTRNIC_NEXT(glob64), out, pattern, flags, error);
}

// ---- attributes
SOFTRNIC_PRELOADED int stat(const char* path, struct stat* out) noexcept {
  return SOFTRNIC_NEXT(stat)(LookedUp(path).path(), out);
}
SOFTRNIC_PRELOADED int stat64(const char* path, struct stat64* out) noexcept {
  return SOFTRNIC_NEXT(stat64)(LookedUp(path).path(), out);
}
SOFTRNIC_PRELOADED int lstat(const char* path, struct stat* out) noexcept {
  return SOFTRNIC_NEXT(lstat)(LookedUp(path).path(), out);
}
SOFTRNIC_PRELOADED int lstat64(const char* path, struct stat64* out) noexcept {
  return SOFTRNIC_NEXT(lstat64)(LookedUp(path).path(), out);
}
SOFTRNIC_PRELOADED int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return SOFTRNIC_NEXT(fstatat)(folder, LookedUp(path).path(), out, flags);
}
SOFTRNIC_PRELOADED int fstatat64(int folder, const char* path, struct stat64* out, int flags) noexcept {
  return SOFTRNIC_NEXT(fstatat64)(folder, LookedUp(path).path(), out, flags);
}
SOFTRNIC_PRELOADED int statx(int folder, const char* path, int flags, unsigned wanted,
                             struct statx* out) noexcept {
  return SOFTRNIC_NEXT(statx)(folder, LookedUp(path).path(), flags, wanted, out);
}
SOFTRNIC_PRELOADED int __xstat(int, const char* path, struct stat* out) { return stat(path, out); }
SOFTRNIC_PRELOADED int __xstat64(int, const char* path, struct stat64* out) { return stat64(path, out); }
SOFTRNIC_PRELOADED int __lxstat(int, const char* path, struct stat* out) { return lstat(path, out); }
SOFTRNIC_PRELOADED int __lxstat64(int, const char* path, struct stat64* out) { return lstat64(path, out); }
SOFTRNIC_PRELOADED int __fxstatat(int, int folder, const char* path, struct stat* out, int flags) {
  return fstatat(folder, path, out, flags);
}
SOFTRNIC_PRELOADED int __fxstatat64(int, int folder, const char* path, struct stat64* out, int flags) {
  return fstatat64(folder, path, out, flags);
}

SOFTRNIC_PRELOADED int access(const char* path, int mode) noexcept {
  return SOFTRNIC_NEXT(access)(LookedUp(path).path(), mode);
}
SOFTRNIC_PRELOADED int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return SOFTRNIC_NEXT(faccessat)(folder, LookedUp(path).path(), mode, flags);
}
SOFTRNIC_PRELOADED int eaccess(const char* path, int mode) noexcept {
  return SOFTRNIC_NEXT(eaccess)(LookedUp(path).path(), mode);
}
SOFTRNIC_PRELOADED int euidaccess(const char* path, int mode) noexcept {
  return SOFTRNIC_NEXT(euidaccess)(LookedUp(path).path(), mode);
}
SOFTRNIC_PRELOADED ssize_t getxattr(const char* path, const char* name, void* out, size_t size) noexcept {
  return SOFTRNIC_NEXT(getxattr)(LookedUp(path).path(), name, out, size);
}
SOFTRNIC_PRELOADED ssize_t lgetxattr(const char* path, const char* name, void* out, size_t size) noexcept {
  return SOFTRNIC_NEXT(lgetxattr)(LookedUp(path).path(), name, out, size);
}
SOFTRNIC_PRELOADED ssize_t listxattr(const char* path, char* out, size_t size) noexcept {
  return SOFTRNIC_NEXT(listxattr)(LookedUp(path).path(), out, size);
}
SOFTRNIC_PRELOADED ssize_t llistxattr(const char* path, char* out, size_t size) noexcept {
  return SOFTRNIC_NEXT(llistxattr)(LookedUp(path).path(), out, size);
}

// ---- links
SOFTRNIC_PRELOADED ssize_t readlink(const char* path, char* out, size_t size) noexcept {
  return SOFTRNIC_NEXT(readlink)(LookedUp(path).path(), out, size);
}
SOFTRNIC_PRELOADED ssize_t readlinkat(int folder, const char* path, char* out, size_t size) noexcept {
  return SOFTRNIC_NEXT(readlinkat)(folder, LookedUp(path).path(), out, size);
}
SOFTRNIC_PRELOADED ssize_t __readlink_chk(const char* path, char* out, size_t size, size_t room) {
  return SOFTRNIC_NEXT(__readlink_chk)(LookedUp(path).path(), out, size, room);
}
SOFTRNIC_PRELOADED ssize_t __readlinkat_chk(int folder, const char* path, char* out, size_t size,
                                            size_t room) {
  return SOFTRNIC_NEXT(__readlinkat_chk)(folder, LookedUp(path).path(), out, size, room);
}
SOFTRNIC_PRELOADED char* realpath(const char* path, char* out) noexcept {
  return own_name(SOFTRNIC_NEXT(realpath)(LookedUp(path).path(), out));
}
SOFTRNIC_PRELOADED char* __realpath_chk(const char* path, char* out, size_t room) {
  return own_name(SOFTRNIC_NEXT(__realpath_chk)(LookedUp(path).path(), out, room));
}
SOFTRNIC_PRELOADED char* canonicalize_file_name(const char* path) noexcept {
  return own_name(SOFTRNIC_NEXT(canonicalize_file_name)(LookedUp(path).path()));
}
