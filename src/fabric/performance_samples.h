// Sampling of a port: what its counters count in an interval that a manager sets (IBTA 16.1.3.2, 16.1.3.3).
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "fabric/port_counters.h"
#include "mad/port_samples.h"

namespace softrnic::fabric {

class PortSampler {
 public:
  /// Counters that can be set, of the 15 that the format has.
  static constexpr std::size_t kCounters = 5;
  using Values = std::array<std::uint64_t, kCounters>;

  /// Begins a sample: start, interval, tag and counters of `control`. False: one is under way, and goes on.
  bool begin(const mad::PortSamplesControl& control, TimePoint now, const PortCounters& counters);
  /// Time has come to `now`.
  void advance(TimePoint now, const PortCounters& counters);
  TimePoint next_deadline() const;

  mad::SampleStatus status() const { return status_; }
  /// As it was set.
  const mad::PortSamplesControl& control() const { return control_; }
  /// What was counted; 0 as long as it is not done.
  const Values& values() const { return values_; }

 private:
  Values read(const PortCounters& counters) const;

  mad::PortSamplesControl control_;
  mad::SampleStatus status_ = mad::SampleStatus::done;
  TimePoint start_ = kNever;
  TimePoint end_ = kNever;
  Values values_{};  ///< while sampling, those at the start
};

}  // namespace softrnic::fabric
