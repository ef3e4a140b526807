#include "cma/id_table.h"

#include <cerrno>
#include <utility>

#include "base/reason_id.h"

namespace softrnic::cma {

Id& IdTable::add(PortSpace space, ibv_qp_type type, std::uint32_t starting_psn) {
  while (next_ == 0 || ids_.contains(next_)) ++next_;
  auto made = std::make_unique<Id>();
  made->number = next_++;
  made->space = space;
  made->qp_type = type;
  made->starting_psn = starting_psn;
  return *ids_.emplace(made->number, std::move(made)).first->second;
}

std::unique_ptr<Id> IdTable::take(IdNumber number) {
  const auto found = ids_.find(number);
  if (found == ids_.end()) return nullptr;
  std::unique_ptr<Id> id = std::move(found->second);
  ids_.erase(found);
  if (id->connection.value != 0) by_connection_.erase(id->connection.value);
  return id;
}

Id* IdTable::find(IdNumber number) const {
  const auto found = ids_.find(number);
  return found == ids_.end() ? nullptr : found->second.get();
}

Id* IdTable::find(cm::Id connection) const {
  const auto found = by_connection_.find(connection.value);
  return found == by_connection_.end() ? nullptr : find(found->second);
}

Expected<Id*, Failure> IdTable::find_named(IdNumber number) const {
  Id* const id = find(number);
  if (id == nullptr || id->waits_at != 0) return Unexpected{refuse(ENOENT, ReasonId::cma_no_such_id, number)};
  return id;
}

Expected<Id*, Failure> IdTable::find_for(IdNumber number, Call call) const {
  const auto found = find_named(number);
  if (!found) return found;
  const auto possible = check_call(call, (*found)->state);
  if (!possible) return Unexpected{possible.error()};
  return found;
}

IdNumber IdTable::next(IdNumber after) const {
  const auto found = ids_.upper_bound(after);
  return found == ids_.end() ? 0 : found->first;
}

void IdTable::connect(Id& id, cm::Id connection) {
  id.connection = connection;
  by_connection_.emplace(connection.value, id.number);
}

}  // namespace softrnic::cma
