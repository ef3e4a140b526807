// What one opened device holds: the rnic context behind it and the handles of its objects.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "abi/verbs/objects.h"

namespace softrnic::abi {

/// Shared by the context that ibv_open_device made and those that ibv_import_device made of it. Thread-safe.
class OpenDevice {
 public:
  OpenDevice(Device& device, std::shared_ptr<rnic::Context> context, const struct stat& file)
      : device_(device), context_(std::move(context)), inode_(file.st_ino), file_system_(file.st_dev) {}

  Device& device() const { return device_; }
  rnic::Context& context() const { return *context_; }
  /// Whether this is the file behind cmd_fd.
  bool is_named_by(const struct stat& file) const {
    return file.st_ino == inode_ && file.st_dev == file_system_;
  }

  /// Enters an object under a new handle, by which it can be imported.
  std::uint32_t add(std::shared_ptr<rnic::ProtectionDomain> pd);
  std::uint32_t add(std::shared_ptr<rnic::MemoryRegion> mr);
  std::uint32_t add(std::shared_ptr<rnic::DeviceMemory> dm);
  std::shared_ptr<rnic::ProtectionDomain> find_pd(std::uint32_t handle);
  std::shared_ptr<rnic::MemoryRegion> find_mr(std::uint32_t handle);
  std::shared_ptr<rnic::DeviceMemory> find_dm(std::uint32_t handle);
  void forget_pd(std::uint32_t handle);
  void forget_dm(std::uint32_t handle);
  /// False when it is not there any more: abandoned.
  bool forget_mr(std::uint32_t handle);
  /// It is there after all.
  void put_back(std::uint32_t handle, std::shared_ptr<rnic::MemoryRegion> mr);

  void add(rnic::MemoryWindow& window);
  /// False when it is not there any more: abandoned.
  bool forget(rnic::MemoryWindow& window);
  void add(rnic::QueuePair& qp);
  void forget(rnic::QueuePair& qp);
  std::uint32_t next_handle();

  /// The last context is being closed. Objects that the program did not destroy end as those of a process
  /// that exits: QPs leave the wire and keys die, so that no peer writes into memory that has a new use. The
  /// structures stay, as the program may still hold them. Returns whether there were any.
  bool abandon();

 private:
  template <typename T>
  using ByHandle = std::unordered_map<std::uint32_t, std::shared_ptr<T>>;
  template <typename T>
  std::uint32_t add_to(ByHandle<T>& table, std::shared_ptr<T> object);
  template <typename T>
  std::shared_ptr<T> find_in(const ByHandle<T>& table, std::uint32_t handle);
  template <typename T>
  bool forget_in(ByHandle<T>& table, std::uint32_t handle);

  Device& device_;
  const std::shared_ptr<rnic::Context> context_;
  const ino_t inode_;
  const dev_t file_system_;
  std::mutex mutex_;
  std::uint32_t last_handle_ = 0;
  ByHandle<rnic::ProtectionDomain> pds_;
  ByHandle<rnic::MemoryRegion> mrs_;
  ByHandle<rnic::DeviceMemory> dms_;
  std::unordered_set<rnic::MemoryWindow*> windows_;
  std::unordered_set<rnic::QueuePair*> qps_;
};

}  // namespace softrnic::abi
