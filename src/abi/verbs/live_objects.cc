#include "abi/verbs/live_objects.h"

#include <mutex>

#include "abi/verbs/engine_calls.h"

namespace softrnic::abi {
namespace {

struct ObjectTable {
  std::mutex mutex;
  std::unordered_map<const void*, Identity> objects;
};

/// Never destroyed: other threads may be inside at exit.
ObjectTable& object_table() {
  static auto* const all = [] {
    hold_across_fork([] { object_table().mutex.lock(); }, [] { object_table().mutex.unlock(); });
    return new ObjectTable;
  }();
  return *all;
}

}  // namespace

void LiveObjects::add(const void* object, const Identity& identity) {
  ObjectTable& all = object_table();
  const std::lock_guard lock(all.mutex);
  all.objects.insert_or_assign(object, identity);
}

Identity LiveObjects::find(const void* object) {
  ObjectTable& all = object_table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.objects.find(object);
  return found != all.objects.end() ? found->second : Identity{};
}

LiveObjects::Entry LiveObjects::take(const void* object, ObjectKind kind) {
  ObjectTable& all = object_table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.objects.find(object);
  if (found == all.objects.end() || found->second.kind != kind) return {};
  return all.objects.extract(found);
}

// Asked once a connection, of programs that number their queue pairs themselves.
ibv_qp* LiveObjects::find_qp(const ibv_context* context, std::uint32_t qpn) {
  ObjectTable& all = object_table();
  const std::lock_guard lock(all.mutex);
  for (const auto& [object, identity] : all.objects) {
    if (identity.kind != ObjectKind::qp) continue;
    auto* const qp = static_cast<ibv_qp*>(const_cast<void*>(object));
    if (qp->context == context && qp->qp_num == qpn) return qp;
  }
  return nullptr;
}

void LiveObjects::put_back(Entry entry) {
  ObjectTable& all = object_table();
  const std::lock_guard lock(all.mutex);
  all.objects.insert(std::move(entry));
}

Unexpected<Failure> LiveObjects::refused_as_dead(ObjectKind kind) {
  return rnic::refused(EINVAL, ReasonId::object_not_alive, kind);
}

Unexpected<Failure> LiveObjects::refused_as_spoilt(const Identity& made, const Identity& now, int error) {
  return rnic::refused(error, ReasonId::object_spoilt, now.handle, made.kind, made.handle);
}

}  // namespace softrnic::abi
