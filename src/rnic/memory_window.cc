#include "rnic/memory_window.h"

#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kNeedLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t kRemoteAccess = kNeedLocalWrite | IBV_ACCESS_REMOTE_READ;

template <typename... Figures>
Unexpected<Reason> no(ReasonId id, Figures... figures) {
  return Unexpected{because(id, figures...)};
}

// IBTA C10-72, o10-37.2.30 and o10-37.2.40.
Expected<void, Reason> check_window(const WindowEntry& window, const WindowUser& user,
                                    const WindowBind& bind) {
  if (window.place.pd != user.pd) return no(ReasonId::window_other_pd, bind.key.value);
  if (!window.one_queue_pair) return {};
  if (window.bound.length != 0) return no(ReasonId::window_bound, bind.key.value, window.bound.key.value);
  if (bind.length == 0) return no(ReasonId::window_without_length, bind.key.value);
  return {};
}

// IBTA C10-73 to C10-75. Like other adapters, none to regions whose addresses begin at 0.
Expected<void, Reason> check_region(const KeyEntry* region, const WindowUser& user, const WindowBind& bind) {
  if (region == nullptr || region->windows == nullptr)
    return no(ReasonId::lkey_unknown, bind.region.value, bind.length, bind.address);
  if (region->pd != user.pd) return no(ReasonId::lkey_other_pd, bind.region.value);
  std::uint32_t needed = IBV_ACCESS_MW_BIND;
  if ((bind.access & kNeedLocalWrite) != 0) needed |= IBV_ACCESS_LOCAL_WRITE;
  const std::uint32_t lacking = needed & ~region->access;
  if (lacking != 0 || (region->access & IBV_ACCESS_ZERO_BASED) != 0)
    return no(ReasonId::window_region_access, bind.region.value, region->access, lacking);
  const std::uint64_t offset = bind.address - region->start;  // huge when it begins before
  const std::uint64_t room = offset <= region->length ? region->length - offset : 0;
  if (bind.length > room)
    return no(ReasonId::lkey_range, bind.region.value, bind.length, bind.address, bind.length - room);
  return {};
}

/// Returns what it took away.
Taken release(WindowEntry& window) {
  if (window.bound.length == 0) return Taken::nothing;
  window.bound.length = 0;
  std::exchange(window.bound_region, nullptr)->release();
  return Taken::access;
}

void cover(WindowEntry& window, const KeyEntry& region, const WindowUser& user, const WindowBind& bind) {
  KeyEntry& bound = window.bound;
  bound.pd = user.pd;
  bound.start = (bind.access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : bind.address;
  bound.length = bind.length;
  bound.base = region.at(bind.address);
  bound.access = (bind.access & kRemoteAccess) | (region.access & IBV_ACCESS_ON_DEMAND);
  bound.queue_pair = window.one_queue_pair ? user.queue_pair : 0;
  window.bound_region = region.windows;
  region.windows->add();
}

}  // namespace

Expected<std::unique_ptr<MemoryWindow>, Failure> MemoryWindow::create(ProtectionDomain& pd,
                                                                      ibv_mw_type type) {
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refused(EINVAL, ReasonId::bad_window_type, type);
  auto& count = pd.context().counts.mws;
  std::unique_ptr<MemoryWindow> window(new MemoryWindow(pd));
  window->entry_.place.pd = &pd.root();
  window->entry_.one_queue_pair = type == IBV_MW_TYPE_2;
  if (count.users() >= limits::kMaxMws || !KeyTable::process().insert(window->entry_))
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxMws, ObjectKind::mw);
  window->first_key_ = window->entry_.bound.key;
  pd.uses.add();
  count.add();
  return window;
}

Expected<void, Failure> MemoryWindow::destroy() {
  KeyTable::process().remove(entry_);
  pd_.context().lanes().quiesce_all();
  pd_.uses.release();
  pd_.context().counts.mws.release();
  return {};
}

void WindowBind::put(ib::SendWqe& wqe) const {
  wqe.rkey = key;
  wqe.immediate = region.value;
  wqe.remote_address = address;
  wqe.compare = length;
  wqe.swap_or_add = access;
}

WindowBind WindowBind::of(const ib::SendWqe& wqe) {
  return {wqe.rkey, MemoryKey(wqe.immediate), wqe.remote_address, wqe.compare,
          static_cast<std::uint32_t>(wqe.swap_or_add)};
}

Expected<Taken, Reason> bind_window(const WindowUser& user, const WindowBind& bind) {
  KeyTable& keys = KeyTable::process();
  return keys.change_window(bind.key, [&](WindowEntry& window) -> Expected<Taken, Reason> {
    if (auto ok = check_window(window, user, bind); !ok) return Unexpected{ok.error()};
    const KeyEntry* const region = bind.length == 0 ? nullptr : keys.find(bind.region);
    if (bind.length != 0) {
      if (auto ok = check_region(region, user, bind); !ok) return Unexpected{ok.error()};
    }
    const Taken taken = release(window);
    window.bound.key = bind.key;
    if (region != nullptr) cover(window, *region, user, bind);
    return taken;
  });
}

// IBTA o10-37.2.26: of type 2 alone. One of type 2B is associated with protection domain and QP: neither the
// peer nor the program may take it from another QP (docs/verbs.md, memory windows).
Expected<Taken, Reason> invalidate_window(const WindowUser& user, MemoryKey key) {
  KeyTable& keys = KeyTable::process();
  if (keys.find(key) != nullptr) return no(ReasonId::invalidate_region, key.value);
  return keys.change_window(key, [&](WindowEntry& window) -> Expected<Taken, Reason> {
    const KeyEntry& bound = window.bound;
    if (bound.key != key || bound.length == 0) return no(ReasonId::no_such_window, key.value);
    if (!window.one_queue_pair) return no(ReasonId::invalidate_type_1, key.value);
    if (bound.pd != user.pd) return no(ReasonId::window_other_pd, key.value);
    if (bound.queue_pair != user.queue_pair) return no(ReasonId::nak_window_other_qp, key.value);
    return release(window);
  });
}

}  // namespace softrnic::rnic
