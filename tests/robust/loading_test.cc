// A program that is not linked with the library: it loads and unloads it, as plug-ins do.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "workers.h"

namespace softrnic::robust {
namespace {

std::size_t mappings() {
  std::ifstream file("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

template <typename Function>
Function* find(void* library, const char* name, Function* /*type*/) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
// Their types come from verbs.h; the functions themselves are never linked.
#define SOFTRNIC_FIND(library, name) find(library, #name, static_cast<decltype(&name)>(nullptr))

/// Loads, opens, makes a few objects, closes and unloads. 0: all went well.
int cycle() {
  void* const library = dlopen(SOFTRNIC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  const auto list_of = reinterpret_cast<ibv_device** (*)(int*)>(dlsym(library, "ibv_get_device_list"));
  const auto free_list = SOFTRNIC_FIND(library, ibv_free_device_list);
  const auto open = SOFTRNIC_FIND(library, ibv_open_device);
  const auto close = SOFTRNIC_FIND(library, ibv_close_device);
  const auto make_pd = SOFTRNIC_FIND(library, ibv_alloc_pd);
  const auto end_pd = SOFTRNIC_FIND(library, ibv_dealloc_pd);
  ibv_device** const list = list_of(nullptr);
  if (list == nullptr || list[0] == nullptr) return 2;
  ibv_context* const context = open(list[0]);
  free_list(list);
  if (context == nullptr) return 3;
  ibv_pd* const pd = make_pd(context);
  if (pd == nullptr || end_pd(pd) != 0 || close(context) != 0) return 4;
  return dlclose(library) == 0 ? 0 : 5;
}

TEST(Loading, CyclesOfDlopenAndDlcloseLeaveNothing) {
  for (unsigned warm = 0; warm < 3; ++warm) ASSERT_EQ(cycle(), 0);
  const std::size_t descriptors = descriptors_of(getpid()), lines = mappings();
  for (unsigned i = 0; i < 50; ++i) ASSERT_EQ(cycle(), 0) << i;
  EXPECT_EQ(descriptors_of(getpid()), descriptors);
  EXPECT_LE(mappings(), lines + 4) << "a thread's stack may stay in the cache of libc";
}

TEST(Loading, WithTheDeviceStillOpen) {
  void* const library = dlopen(SOFTRNIC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto list_of = reinterpret_cast<ibv_device** (*)(int*)>(dlsym(library, "ibv_get_device_list"));
  ibv_device** const list = list_of(nullptr);
  ASSERT_NE(list, nullptr);
  ibv_context* const context = SOFTRNIC_FIND(library, ibv_open_device)(list[0]);
  ASSERT_NE(context, nullptr);
  const auto close = SOFTRNIC_FIND(library, ibv_close_device);
  EXPECT_EQ(dlclose(library), 0);
  EXPECT_EQ(cycle(), 0) << "its threads run on";
  EXPECT_EQ(close(context), 0);
}

TEST(Loading, ByThreadsAtOnceAndByTheirChildren) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (unsigned round = 0; round < 10; ++round) {
        EXPECT_EQ(cycle(), 0);
        EXPECT_EQ(in_child(cycle), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace softrnic::robust
