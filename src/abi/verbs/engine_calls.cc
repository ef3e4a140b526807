#include "abi/verbs/engine_calls.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "engine/adapter.h"

namespace softrnic::abi {
namespace {

/// Without a daemon nothing works and no program says why: the library does, once.
Failure tell(const control::Error& error) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    const std::string line = "softrnic: " + error.text + "\n";
    static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  }
  explain({.reason = error.failure.reason});
  return error.failure;
}

}  // namespace

Expected<std::vector<device::DeviceInfo>, Failure> list_devices() {
  auto devices = engine::Adapter::instance().devices();
  if (!devices) return Unexpected{tell(devices.error())};
  return std::move(*devices);
}

Expected<std::shared_ptr<rnic::Context>, Failure> open_adapter(std::uint32_t device_index) {
  auto opened = engine::Adapter::instance().open(device_index);
  if (!opened) return Unexpected{tell(opened.error())};
  const auto close = [](rnic::Context* context) {
    engine::Adapter::instance().close(std::unique_ptr<rnic::Context>(context));
  };
  return std::shared_ptr<rnic::Context>(opened->release(), close);
}

void on_daemon_end(void (*callback)()) { engine::Adapter::instance().on_daemon_end(callback); }
void on_daemon_return(void (*callback)()) { engine::Adapter::instance().on_daemon_return(callback); }

void hold_across_fork(void (*lock)(), void (*unlock)()) {
  static_cast<void>(engine::Adapter::instance());  // handlers that are registered later lock earlier
  static_cast<void>(pthread_atfork(lock, unlock, unlock));
}

}  // namespace softrnic::abi
