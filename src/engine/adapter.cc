#include "engine/adapter.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "base/held_across_fork.h"
#include "base/reason_id.h"
#include "base/settings.h"
#include "base/thread_number.h"
#include "control/explain_sink.h"
#include "rnic/key_table.h"

namespace softrnic::engine {
namespace {

constexpr std::uint32_t kLoopbackIndex = 1;  // in each network namespace (net/core/dev.c, LOOPBACK_IFINDEX)

constexpr int kAttempts = 8;  ///< of a request; daemons may die under it

std::mutex instance_mutex;
std::atomic<Adapter*> the_instance{nullptr};

}  // namespace

Adapter& Adapter::instance() {
  if (Adapter* process = the_instance.load(std::memory_order_acquire)) return *process;
  const std::lock_guard lock(instance_mutex);
  if (Adapter* process = the_instance.load(std::memory_order_acquire)) return *process;
  static const int registered = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
  static_cast<void>(registered);
  auto* process = new Adapter;  // never destroyed: programs use verbs in their own exit handlers
  the_instance.store(process, std::memory_order_release);
  return *process;
}

Adapter::Adapter() : lanes_(page_) { control::install_explain_sink(&page_, settings().explain); }

// ---- the daemon

template <typename Use>
auto Adapter::with_daemon(Use use) -> decltype(use()) {
  std::vector<Connection> old;
  std::unique_lock lock(mutex_);
  for (int attempt = 1;; ++attempt) {
    if (auto connected = connect(old); !connected) return Unexpected{connected.error()};
    const auto asked = connection_.daemon;
    auto result = use();
    if (result || result.error().failure.reason.id != ReasonId::daemon_gone) return result;
    if (attempt < kAttempts && daemon_returns(lock, asked)) continue;
    if (connection_.daemon == asked) daemon_ended();
    return result;
  }
}

Expected<void, control::Error> Adapter::connect(std::vector<Connection>& old) {
  if (forked_) return Unexpected{control::make_error(refuse(EIO, ReasonId::forked_child))};
  if (connection_.daemon != nullptr && daemon_gone_) {
    daemon_ended();
    if (!contexts_.empty()) return Unexpected{control::make_error(refuse(EIO, ReasonId::daemon_gone))};
    old.push_back(std::exchange(connection_, {}));
  }
  if (connection_.daemon != nullptr) return {};
  auto client = control::Client::connect({.daemon_path = settings().daemon});
  if (!client) return Unexpected{client.error()};
  connection_.daemon = std::move(*client);
  daemon_gone_ = false;
  if (page_.fd() >= 0) static_cast<void>(connection_.daemon->register_page(page_.fd()));
  return {};
}

void Adapter::daemon_ended() {
  daemon_gone_ = true;
  for (rnic::Context* context : contexts_) context->device_lost();
}

bool Adapter::daemon_returns(std::unique_lock<std::mutex>& lock, const DaemonPointer& lost) {
  if (connection_.daemon == lost && connection_.watcher == nullptr) {
    daemon_gone_ = true;  // nobody looks for the next, so the caller does
    return contexts_.empty();
  }
  daemon_settled_.wait_for(lock, control::kAnswerTimeout,
                           [&] { return connection_.daemon != lost || daemon_gone_; });
  return connection_.daemon != lost;
}

bool Adapter::returned(const DaemonPointer& lost, const DaemonPointer& next) {
  {
    const std::lock_guard lock(mutex_);
    if (connection_.daemon != lost || daemon_gone_) return false;  // contexts were told that they are lost
    if (page_.fd() >= 0) static_cast<void>(next->register_page(page_.fd()));
    if (!contexts_.empty() && !next->hold_devices()) return false;
    if (!lanes_.return_to(next) || !compare_devices(*next)) return false;
    connection_.daemon = next;
  }
  daemon_settled_.notify_all();
  if (const auto callback = daemon_return_.load(std::memory_order_acquire)) callback();
  static_cast<void>(next->settled());
  return true;
}

void Adapter::ended(const DaemonPointer& lost) {
  {
    const std::lock_guard lock(mutex_);
    if (connection_.daemon != lost) return;
    daemon_gone_ = true;
  }
  daemon_settled_.notify_all();
  if (const auto callback = daemon_end_.load(std::memory_order_acquire)) callback();
}

Expected<void, control::Error> Adapter::refresh_devices(control::Client& daemon) {
  auto found = daemon.devices();
  if (!found) return Unexpected{found.error()};
  decltype(devices_) now;
  for (device::DeviceInfo& device : *found) {
    const std::uint32_t index = device.index;
    now[index] = std::make_shared<const device::DeviceInfo>(std::move(device));
  }
  devices_ = std::move(now);
  return {};
}

bool Adapter::compare_devices(control::Client& daemon) {
  if (!refresh_devices(daemon)) return false;
  for (rnic::Context* context : contexts_) {
    const auto device = devices_.find(context->info()->index);
    if (device == devices_.end() || device->second->guid != context->info()->guid) {
      context->device_lost();
    } else {
      context->update(device->second);
    }
  }
  lanes_.set_addresses(addresses());
  return true;
}

void Adapter::look_again(const DaemonPointer& daemon) {
  const std::lock_guard lock(mutex_);
  if (connection_.daemon == daemon) static_cast<void>(compare_devices(*daemon));
}

void Adapter::take(const control::Notification& notification) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t index = notification.device.index;
  const bool removed = notification.change == control::Change::device_removed;
  const auto info = std::make_shared<const device::DeviceInfo>(notification.device);
  if (removed) {
    devices_.erase(index);
  } else {
    devices_[index] = info;
  }
  for (rnic::Context* context : contexts_) {
    if (context->info()->index != index) continue;
    if (removed) {
      context->device_lost();
    } else {
      context->update(info);
    }
  }
  lanes_.set_addresses(addresses());
}

namespace {

/// All LIDs of the port, its base LID first.
void add_lids(const device::DeviceInfo& device, std::vector<device::GidEntry>& out) {
  const device::InfinibandPort& port = device.port.infiniband;
  for (unsigned bits = 0; bits < 1U << port.lmc; ++bits) {
    const wire::Lid lid(static_cast<std::uint16_t>(port.lid.value + bits));
    out.push_back({wire::Gid::of_lid(lid), device.interface_index});
  }
}

}  // namespace

// Loopback is there without a device: queue pairs of iWARP reach their peers on this host by it.
std::vector<device::GidEntry> Adapter::addresses() const {
  std::vector<device::GidEntry> out = {{wire::Gid::ipv4_loopback(), kLoopbackIndex}};
  for (const auto& [index, device] : devices_) {
    if (device::has_streams(device->kind)) continue;
    for (const device::GidEntry& entry : device->port.gids) {
      if (!entry.gid.is_zero()) out.push_back(entry);
    }
    if (device::has_lids(device->kind)) add_lids(*device, out);
  }
  return out;
}

// ---- devices and contexts

Expected<std::vector<device::DeviceInfo>, control::Error> Adapter::devices() {
  return with_daemon([this]() -> Expected<std::vector<device::DeviceInfo>, control::Error> {
    if (auto refreshed = refresh_devices(*connection_.daemon); !refreshed)
      return Unexpected{refreshed.error()};
    const std::string& only = settings().device;
    std::vector<device::DeviceInfo> out;
    for (const auto& [index, device] : devices_) {
      if (only.empty() || device->name == only) out.push_back(*device);
    }
    return out;
  });
}

Expected<std::unique_ptr<rnic::Context>, control::Error> Adapter::open(std::uint32_t index) {
  if (auto usable = LaneSet::check_settings(); !usable) return Unexpected{usable.error()};
  return with_daemon([&] { return open_here(index); });
}

Expected<std::unique_ptr<rnic::Context>, control::Error> Adapter::open_here(std::uint32_t index) {
  if (auto held = connection_.daemon->hold_devices(); !held) return Unexpected{held.error()};
  if (auto refreshed = refresh_devices(*connection_.daemon); !refreshed) return Unexpected{refreshed.error()};
  const auto device = devices_.find(index);
  if (device == devices_.end()) {
    return Unexpected{control::make_error(refuse(ENODEV, ReasonId::no_such_device))};
  }
  auto context = std::make_unique<rnic::Context>(device->second, *this);
  if (!context->events().valid())
    return Unexpected{control::make_error(refuse(EMFILE, ReasonId::out_of_fds, EMFILE))};
  if (auto watching = watch(); !watching) return Unexpected{control::make_error(watching.error())};
  contexts_.push_back(context.get());
  return context;
}

Expected<void, Failure> Adapter::watch() {
  if (connection_.watcher != nullptr) return {};
  if (!lanes_.stream_ends().open()) return Unexpected{refuse(errno, ReasonId::out_of_fds, errno)};
  auto watcher = std::make_unique<Watcher>(
      connection_.daemon, lanes_.handover(), control::daemon_command(settings().daemon), lanes_.stream_ends(),
      Watcher::Callbacks{
          .change = [this](const control::Notification& notification) { take(notification); },
          .changes_lost = [this](const auto& daemon) { look_again(daemon); },
          .returned = [this](const auto& lost, const auto& next) { return returned(lost, next); },
          .ended = [this](const auto& lost) { ended(lost); },
          .streams_ended = [](const auto& daemon,
                              const auto& tokens) { static_cast<void>(daemon->streams_ended(tokens)); }});
  if (const int error = watcher->error()) return Unexpected{refuse(error, ReasonId::out_of_threads, error)};
  connection_.watcher = std::move(watcher);
  return {};
}

void Adapter::close(std::unique_ptr<rnic::Context> context) {
  Connection old;
  const std::lock_guard lock(mutex_);
  std::erase(contexts_, context.get());
  context.reset();
  if (forked_ || !contexts_.empty() || !lanes_.close(daemon_gone_ ? nullptr : connection_.daemon.get()))
    return;
  old = std::exchange(connection_, {});
  daemon_gone_ = false;
}

// ---- lanes

Expected<rnic::LanePort*, Failure> Adapter::choose() {
  return choose_by([this] { return &lanes_.next(); });
}

Expected<rnic::LanePort*, Failure> Adapter::choose_for_frames() {
  return choose_by([this] { return &lanes_.first(); });
}

template <typename Choice>
Expected<rnic::LanePort*, Failure> Adapter::choose_by(Choice choice) {
  const auto opened = with_daemon([&]() -> Expected<rnic::LanePort*, control::Error> {
    if (lanes_.empty()) {
      if (auto taken = lanes_.open(connection_.daemon, addresses()); !taken) return Unexpected{taken.error()};
    }
    return choice();
  });
  if (opened) return *opened;
  explain({.reason = opened.error().failure.reason});
  return Unexpected{opened.error().failure};
}

void Adapter::quiesce_all() {
  // Lanes only go with the last context, so the set holds still while a region is deregistered.
  lanes_.quiesce();
}

// ---- fork

void Adapter::before_fork() {
  instance_mutex.lock();
  if (Adapter* process = the_instance.load(std::memory_order_acquire)) {
    process->mutex_.lock();
    process->lanes_.for_each([](Lane& lane) {
      lane.mutex().lock();
      lane.rest(true);
    });
    rnic::KeyTable::process().mutex().lock();
    HeldAcrossFork::lock_all();
  }
  control::lock_explain_sink();  // a leaf
}

void Adapter::after_fork_parent() {
  control::unlock_explain_sink();
  if (Adapter* process = the_instance.load(std::memory_order_acquire)) {
    HeldAcrossFork::unlock_all();
    rnic::KeyTable::process().mutex().unlock();
    process->lanes_.for_each([](Lane& lane) {
      lane.rest(false);
      lane.mutex().unlock();
    });
    process->mutex_.unlock();
  }
  instance_mutex.unlock();
}

void Adapter::after_fork_child() {
  forget_thread_number();
  control::unlock_explain_sink();
  if (Adapter* process = the_instance.load(std::memory_order_acquire)) {
    HeldAcrossFork::unlock_all();
    rnic::KeyTable::process().mutex().unlock();
    process->forked_ = true;
    process->page_.detach_from_parent();
    process->lanes_.for_each([](Lane& lane) {
      lane.abandon();
      lane.rest(false);
      lane.mutex().unlock();
    });
    process->lanes_.forget();
    process->mutex_.unlock();
    the_instance.store(nullptr, std::memory_order_release);
  }
  instance_mutex.unlock();
}

}  // namespace softrnic::engine
