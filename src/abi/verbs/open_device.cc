#include "abi/verbs/open_device.h"

namespace softrnic::abi {

std::uint32_t OpenDevice::add(std::shared_ptr<rnic::ProtectionDomain> pd) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t handle = ++last_handle_;
  pds_.emplace(handle, std::move(pd));
  return handle;
}

std::uint32_t OpenDevice::add(std::shared_ptr<rnic::MemoryRegion> mr) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t handle = ++last_handle_;
  mrs_.emplace(handle, std::move(mr));
  return handle;
}

std::uint32_t OpenDevice::add(std::shared_ptr<rnic::DeviceMemory> dm) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t handle = ++last_handle_;
  dms_.emplace(handle, std::move(dm));
  return handle;
}

std::shared_ptr<rnic::DeviceMemory> OpenDevice::find_dm(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = dms_.find(handle);
  return found == dms_.end() ? nullptr : found->second;
}

void OpenDevice::forget_dm(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  dms_.erase(handle);
}

std::shared_ptr<rnic::ProtectionDomain> OpenDevice::find_pd(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = pds_.find(handle);
  return found == pds_.end() ? nullptr : found->second;
}

std::shared_ptr<rnic::MemoryRegion> OpenDevice::find_mr(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = mrs_.find(handle);
  return found == mrs_.end() ? nullptr : found->second;
}

void OpenDevice::forget_pd(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  pds_.erase(handle);
}

bool OpenDevice::forget_mr(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  return mrs_.erase(handle) != 0;
}

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
