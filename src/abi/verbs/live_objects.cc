#include "abi/verbs/live_objects.h"

#include <mutex>

#include "abi/verbs/engine_calls.h"

namespace softrnic::abi {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const void*, ObjectKind> objects;
};

/// Never destroyed: other threads may be inside at exit.
Table& table() {
  static auto* const all = [] {
    hold_across_fork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); });
    return new Table;
  }();
  return *all;
}

}  // namespace

void LiveObjects::add(const void* object, ObjectKind kind) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.objects.insert_or_assign(object, kind);
}

LiveObjects::Entry LiveObjects::take(const void* object, ObjectKind kind) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.objects.find(object);
  if (found == all.objects.end() || found->second != kind) return {};
  return all.objects.extract(found);
}

// Asked once a connection, of programs that number their queue pairs themselves.
ibv_qp* LiveObjects::find_qp(const ibv_context* context, std::uint32_t qpn) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (const auto& [object, kind] : all.objects) {
    if (kind != ObjectKind::qp) continue;
    auto* const qp = static_cast<ibv_qp*>(const_cast<void*>(object));
    if (qp->context == context && qp->qp_num == qpn) return qp;
  }
  return nullptr;
}

void LiveObjects::put_back(Entry entry) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.objects.insert(std::move(entry));
}

}  // namespace softrnic::abi
