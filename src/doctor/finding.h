// What a check says: whether something stands in the way, what was seen, why that matters, what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace softrnic::doctor {

enum class Outcome : std::uint8_t {
  good,
  slow,         ///< programs work, by a slower way
  broken,       ///< something does not work
  not_checked,  ///< it cannot be seen from here
};
std::string_view name_of(Outcome outcome);  ///< "good", "slow", "broken", "not-checked"

struct Finding {
  Outcome outcome = Outcome::not_checked;
  std::string seen;     ///< with figures and their units; may hold text of others
  std::string because;  ///< empty when good
  std::string cure;     ///< empty when good
};

inline Finding good(std::string seen) { return {Outcome::good, std::move(seen), {}, {}}; }
inline Finding slow(std::string seen, std::string because, std::string cure) {
  return {Outcome::slow, std::move(seen), std::move(because), std::move(cure)};
}
inline Finding broken(std::string seen, std::string because, std::string cure) {
  return {Outcome::broken, std::move(seen), std::move(because), std::move(cure)};
}
inline Finding not_checked(std::string seen, std::string because, std::string cure) {
  return {Outcome::not_checked, std::move(seen), std::move(because), std::move(cure)};
}

}  // namespace softrnic::doctor
