// The objects that the program holds. What is not among them was destroyed already, or was never an object:
// destroying it again answers EINVAL, and touches nothing.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "abi/calls.h"
#include "base/expected.h"
#include "base/reason_id.h"
#include "base/reason_words.h"

namespace softrnic::abi {

/// Of the process. Thread-safe; held across a fork.
class LiveObjects {
 public:
  using Entry = std::unordered_map<const void*, ObjectKind>::node_type;

  static void add(const void* object, ObjectKind kind);
  /// Empty when it is not there, or is of another kind.
  static Entry take(const void* object, ObjectKind kind);
  static void put_back(Entry entry);
  /// nullptr: there is none.
  static ibv_qp* find_qp(const ibv_context* context, std::uint32_t qpn);
};

/// What a call that creates has made is alive from now on.
template <typename T>
Expected<T*, Failure> alive(ObjectKind kind, Expected<T*, Failure> made) {
  if (made) LiveObjects::add(*made, kind);
  return made;
}

/// Ends the life of what is alive, unless `destroy` refuses. Of several threads that try one does.
template <typename T, typename Destroy>
Expected<void, Failure> end_life(ObjectKind kind, T* object, Destroy&& destroy) {
  if (object == nullptr) return null_argument();
  auto entry = LiveObjects::take(object, kind);
  if (entry.empty()) return rnic::refused(EINVAL, ReasonId::object_not_alive, kind);
  const Expected<void, Failure> done = std::forward<Destroy>(destroy)(object);
  if (!done) LiveObjects::put_back(std::move(entry));
  return done;
}

}  // namespace softrnic::abi
