#include "cma/patience.h"

namespace softrnic::cma {
namespace {

/// How long a program may take to answer, once its peer was asked for patience: 68 s.
constexpr std::uint8_t kServiceTimeout = 24;

}  // namespace

void Patience::set(IdNumber id, cm::Id connection, TimePoint due) {
  answered(id);
  waits_.emplace(id, Wait{connection, due});
  due_.emplace(due, id);
}

void Patience::expect_answer(IdNumber id, cm::Id connection, std::uint8_t granted, TimePoint now) {
  set(id, connection, now + cm::duration_of(granted) / 2);
}

void Patience::answered(IdNumber id) {
  const auto wait = waits_.find(id);
  if (wait == waits_.end()) return;
  due_.erase({wait->second.due, id});
  waits_.erase(wait);
}

void Patience::advance(TimePoint now) {
  while (deadline() <= now) {
    const IdNumber id = due_.begin()->second;
    const cm::Id connection = waits_.at(id).connection;
    answered(id);
    if (cm_.delay(connection, kServiceTimeout, {}, now))
      set(id, connection, now + cm::duration_of(kServiceTimeout) / 2);
  }
}

}  // namespace softrnic::cma
