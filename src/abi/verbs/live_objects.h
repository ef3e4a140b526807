// The objects that the program holds, and what each was made as.
//
// What is not among them was destroyed already, or was never an object: calls answer EINVAL, and touch
// nothing. Of an object whose handle or context the program has written over they answer ENOENT, as
// ib_uverbs does, which looks the handle up among those of the context's file (rdma_core.c,
// lookup_get_idr_uobject).
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "abi/calls.h"
#include "abi/verbs/newer_verbs.h"
#include "base/expected.h"
#include "base/reason_id.h"
#include "base/reason_words.h"

namespace softrnic::abi {

// ---- which structures are objects, and what names them

/// Of a context, and of what is no object, ObjectKind::context.
// clang-format off
template <typename T> inline constexpr ObjectKind kKindOf = ObjectKind::context;
template <> inline constexpr ObjectKind kKindOf<ibv_pd> = ObjectKind::pd;
template <> inline constexpr ObjectKind kKindOf<ibv_td> = ObjectKind::td;
template <> inline constexpr ObjectKind kKindOf<ibv_mr> = ObjectKind::mr;
template <> inline constexpr ObjectKind kKindOf<ibv_mw> = ObjectKind::mw;
template <> inline constexpr ObjectKind kKindOf<ibv_dm> = ObjectKind::dm;
template <> inline constexpr ObjectKind kKindOf<ibv_comp_channel> = ObjectKind::channel;
template <> inline constexpr ObjectKind kKindOf<ibv_cq> = ObjectKind::cq;
template <> inline constexpr ObjectKind kKindOf<ibv_cq_ex> = ObjectKind::cq;
template <> inline constexpr ObjectKind kKindOf<ibv_xrcd> = ObjectKind::xrc_domain;
template <> inline constexpr ObjectKind kKindOf<ibv_srq> = ObjectKind::srq;
template <> inline constexpr ObjectKind kKindOf<ibv_qp> = ObjectKind::qp;
template <> inline constexpr ObjectKind kKindOf<ibv_ah> = ObjectKind::ah;
template <> inline constexpr ObjectKind kKindOf<ibv_flow> = ObjectKind::flow;
template <> inline constexpr ObjectKind kKindOf<ibv_counters> = ObjectKind::flow_counters;
template <> inline constexpr ObjectKind kKindOf<ibv_wq> = ObjectKind::wq;
template <> inline constexpr ObjectKind kKindOf<ibv_rwq_ind_table> = ObjectKind::indirection_table;
template <> inline constexpr ObjectKind kKindOf<CompCntr> = ObjectKind::counter;
// clang-format on

template <typename T>
inline constexpr bool kIsContext = std::is_same_v<T, ibv_context>;

/// What a call may be given that has been made before. Contexts are not looked up: their devices are.
template <typename T>
inline constexpr bool kIsObject = kKindOf<T> != ObjectKind::context;

/// What an object is, and which.
struct Identity {
  ObjectKind kind = ObjectKind::context;
  std::uint32_t handle = 0;  ///< 0 of what has none
  const void* context = nullptr;

  bool operator==(const Identity&) const = default;
};

template <typename T>
Identity identity_of(const T& object) {
  Identity out{.kind = kKindOf<T>};
  if constexpr (requires { object.handle; }) out.handle = object.handle;
  if constexpr (requires { object.ind_tbl_handle; })
    out.handle = static_cast<std::uint32_t>(object.ind_tbl_handle);
  if constexpr (!kIsContext<T>) out.context = object.context;
  return out;
}

// ---- the table

/// Of the process. Thread-safe; held across a fork.
class LiveObjects {
 public:
  using Entry = std::unordered_map<const void*, Identity>::node_type;

  static void add(const void* object, const Identity& identity);
  /// EINVAL when it is not there, or is of another kind; `unknown` when it is not what was added.
  template <typename T>
  static Expected<void, Failure> check(const T* object, int unknown) {
    const Identity made = find(object);
    if (made.kind != kKindOf<T>) return refused_as_dead(kKindOf<T>);
    if (made == identity_of(*object)) return {};
    return refused_as_spoilt(made, identity_of(*object), unknown);
  }
  /// Empty when it is not there, or is of another kind.
  static Entry take(const void* object, ObjectKind kind);
  static void put_back(Entry entry);
  /// nullptr: there is none.
  static ibv_qp* find_qp(const ibv_context* context, std::uint32_t qpn);

  static Unexpected<Failure> refused_as_dead(ObjectKind kind);
  static Unexpected<Failure> refused_as_spoilt(const Identity& made, const Identity& now, int error);

 private:
  /// Of no object (but of a context) when it is not there.
  static Identity find(const void* object);
};

// ---- what calls ask

/// The pointers that a call needs: none is NULL, and the objects among them are alive and as they were
/// made. `unknown` is the answer for one that is not as it was.
template <typename... Pointed>
Expected<void, Failure> check_given_or(int unknown, const Pointed*... pointers) {
  if ((false || ... || (pointers == nullptr))) return null_argument();
  Expected<void, Failure> sound;
  const auto look_at = [&]<typename T>(const T* object) {
    if constexpr (kIsObject<T>) {
      if (sound) sound = LiveObjects::check(object, unknown);
    }
  };
  (look_at(pointers), ...);
  return sound;
}

/// The errno is that of kernels since 6.15 (also 6.6.93, 6.12.31); for what a call names beside its subject
/// older ones say EINVAL.
template <typename... Pointed>
Expected<void, Failure> check_given(const Pointed*... pointers) {
  return check_given_or(ENOENT, pointers...);
}

/// The same of what may be left out.
template <typename T>
Expected<void, Failure> check_optional(const T* object) {
  return object == nullptr ? Expected<void, Failure>() : check_given(object);
}

/// What a call that creates has made is alive from now on.
template <typename T>
Expected<T*, Failure> alive(Expected<T*, Failure> made) {
  if (made) LiveObjects::add(*made, identity_of(**made));
  return made;
}

/// Ends the life of what is alive, unless `destroy` refuses. Of several threads that try one does.
template <typename T, typename Destroy>
Expected<void, Failure> end_life(T* object, Destroy&& destroy) {
  if (object == nullptr) return null_argument();
  auto entry = LiveObjects::take(object, kKindOf<T>);
  if (entry.empty()) return LiveObjects::refused_as_dead(kKindOf<T>);
  const Identity made = entry.mapped(), now = identity_of(*object);
  const Expected<void, Failure> done =
      made == now ? std::forward<Destroy>(destroy)(object)
                  : Expected<void, Failure>(LiveObjects::refused_as_spoilt(made, now, ENOENT));
  if (!done) LiveObjects::put_back(std::move(entry));
  return done;
}

}  // namespace softrnic::abi
