// Maps memory of local peers that messages without packets go to, and lets it go again: by the lane's
// thread, as that takes a while.
#pragma once

#include "base/quick_mutex.h"
#include "samehost/direct_path.h"

namespace softrnic::samehost {

class SegmentMapper {
 public:
  /// `mutex`, the lane's lock, guards `direct`; both outlive this object.
  SegmentMapper(QuickMutex& mutex, DirectPath& direct) : mutex_(mutex), direct_(direct) {}

  /// With the lock held: what is to be mapped, and what is due to be unmapped, is now this object's to do.
  void take_requests(TimePoint now);
  /// Without the lock, by the thread that has called take_requests(): does it. Takes the lock only if there
  /// is something to map: threads of the program hardly let go of it when they post much.
  void run();

 private:
  MappedRange map(const DirectPath::MapRequest& request);

  QuickMutex& mutex_;
  DirectPath& direct_;
  DirectPath::MapRequests requests_;
  SegmentCache::Mappings old_;
};

}  // namespace softrnic::samehost
