#include "fabric/performance_samples.h"

#include "fabric/performance_counters.h"

namespace softrnic::fabric {
namespace {

std::uint64_t read_counter(mad::SampleCounter counter, const PortCounters& counters) {
  switch (counter) {
    case mad::SampleCounter::none:
      return 0;
    case mad::SampleCounter::port_xmit_data:
      return counters.xmit_data;
    case mad::SampleCounter::port_rcv_data:
      return counters.rcv_data;
    case mad::SampleCounter::port_xmit_pkts:
      return counters.xmit_packets();
    case mad::SampleCounter::port_rcv_pkts:
      return counters.rcv_packets();
    case mad::SampleCounter::port_xmit_wait:
      return xmit_wait_of(counters);
  }
  return 0;
}

}  // namespace

bool PortSampler::begin(const mad::PortSamplesControl& control, TimePoint now, const PortCounters& counters) {
  if (status_ != mad::SampleStatus::done) return false;
  control_ = control;
  start_ = now + control.sample_start * kPerformanceTick;
  end_ = start_ + control.sample_interval * kPerformanceTick;
  values_ = {};
  status_ = mad::SampleStatus::timer_running;
  advance(now, counters);
  return true;
}

void PortSampler::advance(TimePoint now, const PortCounters& counters) {
  if (status_ == mad::SampleStatus::timer_running && now >= start_) {
    status_ = mad::SampleStatus::sampling;
    values_ = read(counters);
  }
  if (status_ == mad::SampleStatus::sampling && now >= end_) {
    status_ = mad::SampleStatus::done;
    const Values at_end = read(counters);
    for (std::size_t i = 0; i < kCounters; ++i) values_[i] = at_end[i] - values_[i];
  }
}

TimePoint PortSampler::next_deadline() const {
  switch (status_) {
    case mad::SampleStatus::timer_running:
      return start_;
    case mad::SampleStatus::sampling:
      return end_;
    case mad::SampleStatus::done:
      return kNever;
  }
  return kNever;
}

PortSampler::Values PortSampler::read(const PortCounters& counters) const {
  Values values{};
  for (std::size_t i = 0; i < kCounters; ++i) {
    values[i] = read_counter(control_.counter_select[i], counters);
  }
  return values;
}

}  // namespace softrnic::fabric
