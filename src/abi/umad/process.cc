#include "abi/umad/process.h"

#include <atomic>
#include <utility>

#include "base/settings.h"
#include "control/explain_sink.h"

namespace softrnic::umad {

Process& this_process() {
  // Never destroyed: programs call us in their own exit handlers. A forked child leaves its parent's alone,
  // whose locks may be held by threads that the child does not have.
  static std::atomic<Process*> current{nullptr};
  Process* process = current.load(std::memory_order_acquire);
  while (process == nullptr || process->pid != getpid()) {
    auto made = std::make_unique<Process>();
    if (current.compare_exchange_strong(process, made.get(), std::memory_order_acq_rel))
      process = made.release();
  }
  return *process;
}

// This library has no page for explanations: that is libibverbs', which such a program need not have.
Process::Process() { control::install_explain_sink(nullptr, settings().explain); }

Expected<std::shared_ptr<control::MadClient>, control::Error> Process::client() {
  const std::lock_guard lock(mutex_);
  if (client_ != nullptr) return client_;
  auto connected = control::Client::connect();
  if (!connected) return Unexpected{connected.error()};
  client_ = std::make_shared<control::MadClient>(std::move(*connected));
  return client_;
}

void Process::forget(const std::shared_ptr<control::MadClient>& gone) {
  const std::lock_guard lock(mutex_);
  if (client_ == gone) client_.reset();
}

std::shared_ptr<OpenPort> Process::find(int fd) {
  const std::lock_guard lock(ports_mutex_);
  const auto found = ports_.find(fd);
  return found == ports_.end() ? nullptr : found->second;
}

void Process::add(int fd, std::shared_ptr<OpenPort> port) {
  const std::lock_guard lock(ports_mutex_);
  ports_[fd] = std::move(port);  // a program that has closed the descriptor by itself has left one there
}

std::shared_ptr<OpenPort> Process::remove(int fd) {
  const std::lock_guard lock(ports_mutex_);
  const auto found = ports_.find(fd);
  if (found == ports_.end()) return nullptr;
  auto port = std::move(found->second);
  ports_.erase(found);
  return port;
}

}  // namespace softrnic::umad
