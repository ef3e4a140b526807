#include "engine/segment_mapper.h"

#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/settings.h"

namespace softrnic::engine {

samehost::MappedRange SegmentMapper::map(const samehost::DirectPath::MapRequest& request) {
  std::optional<samehost::DirectPath::MapTarget> target_of;
  {
    const std::lock_guard lock(mutex_);
    target_of = direct_.target_of(request);
  }
  return target_of ? samehost::MappedRange::map(target_of->pid, target_of->range, settings().share)
                   : samehost::MappedRange();
}

void SegmentMapper::run() {
  samehost::SegmentCache::Mappings old;
  try {
    for (const samehost::DirectPath::MapRequest& request : requests_.all()) {
      samehost::MappedRange mapped = map(request);
      const std::lock_guard lock(mutex_);
      direct_.install_segment(request, std::move(mapped), monotonic_now(), old);
    }
    const std::lock_guard lock(mutex_);
    direct_.sweep(monotonic_now(), old);
  } catch (const std::bad_alloc&) {
    // what could not be mapped is reached without
  }
  requests_ = {};
}

}  // namespace softrnic::engine
