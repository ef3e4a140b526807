// All communication ids, and the ways to find one: by its number, and by the connection that cm has for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/expected.h"
#include "base/reason.h"
#include "cma/id.h"

namespace softrnic::cma {

class IdTable {
 public:
  static constexpr std::size_t kMost = 65536;

  /// A new one, in the state idle; its number is not in use.
  Id& add(PortSpace space, ibv_qp_type type, std::uint32_t starting_psn);
  /// Takes it out, so that nothing finds it any more; nullptr: no such id.
  std::unique_ptr<Id> take(IdNumber id);
  bool full() const { return ids_.size() >= kMost; }
  std::size_t size() const { return ids_.size(); }

  /// nullptr: no such id.
  Id* find(IdNumber id) const;
  Id* find(cm::Id connection) const;
  /// What a program names. The id of a request becomes the program's with the event that tells of it, so
  /// ENOENT before: else a number that it guessed could end or move an id whose event is still to come.
  Expected<Id*, Failure> find_named(IdNumber id) const;
  /// The same, for a call that its state has to allow (check_call()).
  Expected<Id*, Failure> find_for(IdNumber id, Call call) const;
  /// The one with the lowest number above `after`; 0: none.
  IdNumber next(IdNumber after) const;
  /// By their numbers.
  const std::map<IdNumber, std::unique_ptr<Id>>& all() const { return ids_; }

  /// `id` is found by this connection from now on. It has none yet.
  void connect(Id& id, cm::Id connection);

 private:
  std::map<IdNumber, std::unique_ptr<Id>> ids_;
  std::unordered_map<std::uint32_t, IdNumber> by_connection_;  ///< by cm::Id
  IdNumber next_ = 1;
};

}  // namespace softrnic::cma
