#include "samehost/segment_mapper.h"

#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/settings.h"

namespace softrnic::samehost {

MappedRange SegmentMapper::map(const DirectPath::MapRequest& request) {
  std::optional<DirectPath::MapTarget> target;
  {
    const std::lock_guard lock(mutex_);
    target = direct_.target_of(request);
  }
  return target ? MappedRange::map(target->pid, target->range, settings().share) : MappedRange();
}

void SegmentMapper::take_requests(TimePoint now) {
  requests_ = direct_.take_map_requests();
  try {
    direct_.sweep(now, old_);
  } catch (const std::bad_alloc&) {
    // what could not be put aside stays mapped
  }
}

void SegmentMapper::run() {
  try {
    for (const DirectPath::MapRequest& request : requests_.all()) {
      MappedRange mapped = map(request);
      const std::lock_guard lock(mutex_);
      direct_.install_segment(request, std::move(mapped), monotonic_now(), old_);
    }
  } catch (const std::bad_alloc&) {
    // what could not be mapped is reached without
  }
  requests_ = {};
  old_.clear();
}

}  // namespace softrnic::samehost
