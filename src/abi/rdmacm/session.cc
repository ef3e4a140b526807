#include "abi/rdmacm/session.h"

#include <unistd.h>

#include <cerrno>

#include "base/attempt.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

/// Never destroyed: programs call us in their own exit handlers. A forked child makes its own and leaves its
/// parent's alone, whose locks may be held by threads that the child does not have.
struct Process {
  const pid_t pid = getpid();
  std::mutex mutex;
  std::shared_ptr<Session> session;
  ChannelCounts counts;
  DaemonLinks links;
};

Process& this_process() {
  static std::atomic<Process*> current{nullptr};
  Process* process = current.load(std::memory_order_acquire);
  while (process == nullptr || process->pid != getpid()) {
    auto made = std::make_unique<Process>();
    if (current.compare_exchange_strong(process, made.get(), std::memory_order_acq_rel))
      process = made.release();
  }
  return *process;
}

}  // namespace

ChannelCounts& channel_counts() { return this_process().counts; }

void ChannelCounts::add(rnic::EventCount& count) {
  const std::lock_guard lock(mutex_);
  counts_.insert(&count);
}

void ChannelCounts::remove(rnic::EventCount& count) {
  const std::lock_guard lock(mutex_);
  counts_.erase(&count);
}

void ChannelCounts::post_all() {
  const std::lock_guard lock(mutex_);
  for (rnic::EventCount* count : counts_) count->wake();
}

DaemonLinks& daemon_links() { return this_process().links; }

void DaemonLinks::add(const std::shared_ptr<control::CmClient>& link) {
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [](const auto& known) { return known.expired(); });
  links_.push_back(link);
}

std::vector<std::shared_ptr<control::CmClient>> DaemonLinks::living() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<control::CmClient>> out;
  for (const auto& known : links_)
    if (auto link = known.lock()) out.push_back(std::move(link));
  return out;
}

bool DaemonLinks::come_back() {
  bool all = true;
  for (const auto& link : living()) all = link->come_back() && all;
  return all;
}

void DaemonLinks::give_up() {
  for (const auto& link : living()) link->give_up();
}

namespace {

void no_daemon_any_more() {
  attempt([] { daemon_links().give_up(); });
  channel_counts().post_all();
}

void daemon_has_returned() {
  bool all = false;
  attempt([&] { all = daemon_links().come_back(); });
  if (!all) channel_counts().post_all();
}

}  // namespace

Session::Session(std::unique_ptr<control::Client> client)
    : shared_daemon(std::make_shared<control::CmClient>(std::move(client))) {}

bool Session::severed(const control::Error& error) {
  const ReasonId reason = error.failure.reason.id;
  if (reason == ReasonId::daemon_gone) lost_.store(true, std::memory_order_relaxed);
  return reason == ReasonId::daemon_gone || reason == ReasonId::forked_child;
}

Expected<void, Failure> Session::check() const {
  if (getpid() != owner_) return rnic::refused(EPERM, ReasonId::forked_child);
  if (lost()) return rnic::refused(EIO, ReasonId::daemon_gone);
  return {};
}

Unexpected<Failure> Session::failed(const control::Error& error) {
  static_cast<void>(severed(error));
  return rnic::refused(error.failure);
}

Expected<std::shared_ptr<Session>, Failure> current_session() {
  Process& process = this_process();
  const std::lock_guard lock(process.mutex);
  if (process.session != nullptr && !process.session->lost()) return process.session;
  process.session.reset();
  // The list comes first: with it libibverbs starts the daemon, says on stderr why it
  // cannot, and installs the sink.
  auto list = list_devices();
  if (!list) return Unexpected{list.error()};
  const abi::Sibling* const sibling = abi::sibling_of(*list->get());
  if (sibling != nullptr) {
    set_explain_sink(sibling->explain);
    sibling->on_daemon_end(no_daemon_any_more);
    sibling->on_daemon_return(daemon_has_returned);
  }
  auto client = control::Client::connect();
  if (!client) return rnic::refused(client.error().failure);
  auto session = std::make_shared<Session>(std::move(*client));
  if (const auto opened = session->devices.all(); !opened) return Unexpected{opened.error()};
  session->sibling = sibling;
  if (sibling != nullptr) session->daemon.set_watched();
  daemon_links().add(session->shared_daemon);
  process.session = session;
  return session;
}

}  // namespace softrnic::rdmacm
