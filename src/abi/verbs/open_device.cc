#include "abi/verbs/open_device.h"

namespace softrnic::abi {

template <typename T>
std::uint32_t OpenDevice::add_to(ByHandle<T>& table, std::shared_ptr<T> object) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t handle = ++last_handle_;
  table.emplace(handle, std::move(object));
  return handle;
}

template <typename T>
std::shared_ptr<T> OpenDevice::find_in(const ByHandle<T>& table, std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = table.find(handle);
  return found == table.end() ? nullptr : found->second;
}

template <typename T>
bool OpenDevice::forget_in(ByHandle<T>& table, std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  return table.erase(handle) != 0;
}

std::uint32_t OpenDevice::add(std::shared_ptr<rnic::ProtectionDomain> pd) {
  return add_to(pds_, std::move(pd));
}
std::uint32_t OpenDevice::add(std::shared_ptr<rnic::MemoryRegion> mr) { return add_to(mrs_, std::move(mr)); }
std::uint32_t OpenDevice::add(std::shared_ptr<rnic::DeviceMemory> dm) { return add_to(dms_, std::move(dm)); }

std::shared_ptr<rnic::ProtectionDomain> OpenDevice::find_pd(std::uint32_t handle) {
  return find_in(pds_, handle);
}
std::shared_ptr<rnic::MemoryRegion> OpenDevice::find_mr(std::uint32_t handle) {
  return find_in(mrs_, handle);
}
std::shared_ptr<rnic::DeviceMemory> OpenDevice::find_dm(std::uint32_t handle) {
  return find_in(dms_, handle);
}

void OpenDevice::forget_pd(std::uint32_t handle) { static_cast<void>(forget_in(pds_, handle)); }
bool OpenDevice::forget_mr(std::uint32_t handle) { return forget_in(mrs_, handle); }
void OpenDevice::forget_dm(std::uint32_t handle) { static_cast<void>(forget_in(dms_, handle)); }

void OpenDevice::put_back(std::uint32_t handle, std::shared_ptr<rnic::MemoryRegion> mr) {
  const std::lock_guard lock(mutex_);
  mrs_.emplace(handle, std::move(mr));
}

void OpenDevice::add(rnic::MemoryWindow& window) {
  const std::lock_guard lock(mutex_);
  windows_.insert(&window);
}

bool OpenDevice::forget(rnic::MemoryWindow& window) {
  const std::lock_guard lock(mutex_);
  return windows_.erase(&window) != 0;
}

void OpenDevice::add(rnic::QueuePair& qp) {
  const std::lock_guard lock(mutex_);
  qps_.insert(&qp);
}

void OpenDevice::forget(rnic::QueuePair& qp) {
  const std::lock_guard lock(mutex_);
  qps_.erase(&qp);
}

std::uint32_t OpenDevice::next_handle() {
  const std::lock_guard lock(mutex_);
  return ++last_handle_;
}

bool OpenDevice::abandon() {
  std::unordered_map<std::uint32_t, std::shared_ptr<rnic::MemoryRegion>> mrs;
  std::unordered_set<rnic::MemoryWindow*> windows;
  std::unordered_set<rnic::QueuePair*> qps;
  {
    const std::lock_guard lock(mutex_);
    mrs.swap(mrs_);
    windows.swap(windows_);
    qps.swap(qps_);
  }
  ibv_qp_attr to_reset{};
  to_reset.qp_state = IBV_QPS_RESET;
  for (rnic::QueuePair* qp : qps) static_cast<void>(qp->modify(to_reset, IBV_QP_STATE));
  for (rnic::MemoryWindow* window : windows) static_cast<void>(window->destroy());
  for (auto& [handle, mr] : mrs) static_cast<void>(mr->destroy());
  const auto& counts = context_->counts;
  return counts.pds.users() + counts.cqs.users() + counts.srqs.users() + counts.qps.users() +
             counts.ahs.users() + counts.channels.users() + counts.counters.users() +
             counts.xrc_domains.users() + counts.device_memory_bytes.load() !=
         0;
}

}  // namespace softrnic::abi
