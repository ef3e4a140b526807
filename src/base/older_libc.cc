// What the static C++ runtime asks of the C library and glibc 2.34 does not have yet. Linked by itself into
// each program and library of the product, so that one build runs on all distributions since 2021. It is not
// exported.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // the C library of this host has both, so the runtime asks for them

extern "C" std::uint32_t arc4random() noexcept;

namespace {

using FindObject = int (*)(void*, dl_find_object*);

int not_looked_yet(void*, dl_find_object*) { return -1; }
constinit std::atomic<FindObject> g_find_object{not_looked_yet};

struct Search {
  std::uintptr_t address;
  dl_find_object& result;
  bool found = false;
};

// Whether the address lies in a loaded segment of this object, and where its exception tables are.
int look_at(dl_phdr_info* object, std::size_t, void* context) {
  Search& search = *static_cast<Search*>(context);
  const ElfW(Phdr)* tables = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_GNU_EH_FRAME) tables = &header;
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || search.address < start || search.address - start >= header.p_memsz)
      continue;
    search.found = true;
    search.result.dlfo_map_start = reinterpret_cast<void*>(start);
    search.result.dlfo_map_end = reinterpret_cast<void*>(start + header.p_memsz);
  }
  if (!search.found) return 0;
  search.result.dlfo_eh_frame =
      tables == nullptr ? nullptr : reinterpret_cast<void*>(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

int find_by_iterating(void* address, dl_find_object* result) {
  *result = {};
  Search search{reinterpret_cast<std::uintptr_t>(address), *result};
  dl_iterate_phdr(look_at, &search);
  return search.found && result->dlfo_eh_frame != nullptr ? 0 : -1;
}

}  // namespace

extern "C" {

// glibc has it since 2.36. std::random_device, which is linked with std::string, asks for it; nothing of ours
// does.
std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value && errno == EINTR) {
  }
  return value;
}

// The unwinder of GCC 12 and later asks for it, where an exception was thrown; glibc has it since 2.35.
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  FindObject find = g_find_object.load(std::memory_order_relaxed);
  if (find == not_looked_yet) {
    find = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
    if (find == nullptr) find = find_by_iterating;
    g_find_object.store(find, std::memory_order_relaxed);
  }
  return find(address, result);
}
}

#endif
