#include "base/held_across_fork.h"

#include <mutex>

namespace softrnic {
namespace {

constinit std::mutex lists_mutex;
/// By Rank
constinit HeldAcrossFork* lists[static_cast<std::size_t>(HeldAcrossFork::Rank::events) + 1] = {};

}  // namespace

HeldAcrossFork::HeldAcrossFork(void* mutex, Call lock, Call unlock, Rank rank)
    : mutex_(mutex), lock_(lock), unlock_(unlock), before_(&lists[static_cast<std::size_t>(rank)]) {
  const std::lock_guard guard(lists_mutex);
  next_ = *before_;
  if (next_ != nullptr) next_->before_ = &next_;
  *before_ = this;
}

HeldAcrossFork::~HeldAcrossFork() {
  const std::lock_guard guard(lists_mutex);
  *before_ = next_;
  if (next_ != nullptr) next_->before_ = before_;
}

void HeldAcrossFork::lock_all() {
  lists_mutex.lock();
  for (HeldAcrossFork* list : lists)
    for (; list != nullptr; list = list->next_) list->lock_(list->mutex_);
}

void HeldAcrossFork::unlock_all() {
  for (HeldAcrossFork* list : lists)
    for (; list != nullptr; list = list->next_) list->unlock_(list->mutex_);
  lists_mutex.unlock();
}

}  // namespace softrnic
