// Who listens for which service IDs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cm/types.h"

namespace softrnic::cm {

class Listeners {
 public:
  /// False when a service ID of the new range has a listener.
  bool add(Id id, ServiceId service_id, std::uint64_t mask);
  void remove(Id id);
  bool contains(Id id) const { return ranges_.contains(id.value); }
  std::optional<Id> find(ServiceId service_id) const;

 private:
  static constexpr std::uint64_t kExact = ~std::uint64_t{0};
  struct Range {
    std::uint64_t service_id;
    std::uint64_t mask;
  };
  std::map<std::uint32_t, Range> ranges_;         ///< by listener
  std::map<std::uint64_t, std::uint32_t> exact_;  ///< service ID → listener
  std::map<std::uint32_t, Range> masked_;         ///< the few that are not exact
};

}  // namespace softrnic::cm
