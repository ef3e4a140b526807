#include "fabric/performance_agent.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "fabric/engine.h"
#include "mad/class_port_info.h"
#include "mad/port_counters.h"
#include "mad/port_samples.h"

namespace softrnic::fabric {
namespace {

using mad::Status;
namespace performance_capability = mad::performance_capability;

constexpr std::uint8_t kClassVersion = 1;
constexpr std::uint8_t kResponseTime = 18;  ///< 4.096 µs · 2^18: a second
constexpr std::size_t kPortSelect = 1;      ///< at the same byte of all attributes with counters
constexpr std::uint8_t kWidth32 = 4;        ///< CounterWidth
constexpr std::uint8_t kWidth64 = 2;        ///< ExtendedWidth
constexpr std::uint8_t kAnyMandatory = 1;   ///< CounterMask: every mandatory quantity
constexpr std::uint64_t kFull = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) { return b > kFull - a ? kFull : a + b; }

bool has_all_port_select(const ManagedNode& node) { return node.is_switch() || node.info.num_ports > 1; }

}  // namespace

struct PerformanceAgent::Request {
  const ManagedNode& node;
  std::uint8_t in_port;
  mad::Header header;
  Bytes data;  ///< as it came
  TimePoint now;

  bool sets() const { return header.method == mad::Method::set; }
  std::uint8_t port_select() const { return std::to_integer<std::uint8_t>(data[kPortSelect]); }
  /// nullptr: PortSelect names no port.
  const ManagedPort* port() const { return node.port(port_select()); }
  const ManagedPort& endport() const { return node.endport(in_port); }
};

bool PerformanceAgent::answer(const ManagedNode& node, std::uint8_t in_port, mad::Mad& mad, TimePoint now) {
  const mad::Mad asked = mad;
  const auto header = mad::parse_header(asked);
  if (!header) return false;
  if ((static_cast<std::uint8_t>(header->method) & 0x80) != 0) return false;
  const Request request{node, in_port, *header, Bytes(asked).subspan<mad::kPerformanceDataOffset>(), now};
  std::array<std::byte, mad::kPerformanceDataBytes> data{};
  const Status status = serve(request, data);
  if (status == Status::ok) {
    std::ranges::copy(data, mad.begin() + static_cast<std::ptrdiff_t>(mad::kPerformanceDataOffset));
  }
  mad::Header answered = *header;
  answered.method = mad::Method::get_response;
  answered.status = static_cast<std::uint16_t>(status);
  mad::encode_header(answered, mad);
  return true;
}

Status PerformanceAgent::serve(const Request& request, MutableBytes data) {
  struct Row {
    std::uint16_t id;
    Handler handler;
    bool is_set_too;
  };
  static constexpr Row kRows[] = {
      {mad::kClassPortInfo, &PerformanceAgent::serve_class_port_info, true},
      {mad::PortSamplesControl::kAttribute, &PerformanceAgent::serve_samples_control, true},
      {mad::PortSamplesResult::kAttribute, &PerformanceAgent::serve_samples_result, false},
      {mad::PortSamplesResultExtended::kAttribute, &PerformanceAgent::serve_samples_result_extended, false},
  };
  const mad::Header& header = request.header;
  if (header.class_version != kClassVersion) return Status::bad_version;
  if (!request.sets() && header.method != mad::Method::get) return Status::bad_method;
  const auto* const row = std::ranges::find(kRows, header.attribute, &Row::id);
  if (row != std::end(kRows)) {
    if (request.sets() && !row->is_set_too) return Status::bad_method_attribute;
    return header.modifier != 0 ? Status::bad_attribute_value : (this->*row->handler)(request, data);
  }
  const auto attributes = counter_attributes();
  const auto found = std::ranges::find(attributes, header.attribute, &CounterAttribute::id);
  if (found == attributes.end()) return Status::bad_method_attribute;
  if (header.modifier != 0) return Status::bad_attribute_value;
  return serve_counters(request, static_cast<std::size_t>(found - attributes.begin()), data);
}

// There is nothing to set in it: the class has no traps here.
Status PerformanceAgent::serve_class_port_info(const Request& request, MutableBytes data) {
  mad::ClassPortInfo info;
  info.class_version = kClassVersion;
  info.capability_mask = performance_capability::kExtendedWidth | performance_capability::kXmitWait |
                         performance_capability::kQp1Dropped;
  if (has_all_port_select(request.node)) info.capability_mask |= performance_capability::kAllPortSelect;
  info.capability_mask2 = performance_capability::kExtendedErrors2;
  info.response_time = kResponseTime;
  encode(info, data);
  return Status::ok;
}

Status PerformanceAgent::serve_samples_control(const Request& request, MutableBytes data) {
  const ManagedPort* const port = request.port();
  if (port == nullptr) return Status::bad_attribute_value;
  PortSampler& sampler = state_of(request.endport()).sampler;
  if (request.sets()) {
    sampler.begin(mad::decode<mad::PortSamplesControl>(request.data), request.now, counters_of(*port));
  }
  const mad::PortSamplesControl& set = sampler.control();
  mad::PortSamplesControl control;
  control.port_select = request.port_select();
  control.tick = tick_code(port->info);
  control.counter_width = kWidth32;
  std::fill_n(control.counter_mask0_9.begin(), PortSampler::kCounters, kAnyMandatory);
  control.sample_status = sampler.status();
  control.sample_start = set.sample_start;
  control.sample_interval = set.sample_interval;
  control.tag = set.tag;
  std::copy_n(set.counter_select.begin(), PortSampler::kCounters, control.counter_select.begin());
  encode(control, data);
  return Status::ok;
}

// It has no PortSelect: an endport samples one port at a time.
Status PerformanceAgent::serve_samples_result(const Request& request, MutableBytes data) {
  const PortSampler& sampler = state_of(request.endport()).sampler;
  mad::PortSamplesResult result;
  result.tag = sampler.control().tag;
  result.sample_status = sampler.status();
  std::ranges::copy(sampler.values(), result.counter.begin());
  encode(result, data);
  return Status::ok;
}

Status PerformanceAgent::serve_samples_result_extended(const Request& request, MutableBytes data) {
  const PortSampler& sampler = state_of(request.endport()).sampler;
  mad::PortSamplesResultExtended result;
  result.tag = sampler.control().tag;
  result.sample_status = sampler.status();
  result.extended_width = kWidth64;
  std::ranges::copy(sampler.values(), result.counter.begin());
  encode(result, data);
  return Status::ok;
}

Status PerformanceAgent::serve_counters(const Request& request, std::size_t attribute, MutableBytes data) {
  const CounterAttribute& format = counter_attributes()[attribute];
  const bool all = request.port_select() == mad::kAllPorts && has_all_port_select(request.node);
  const ManagedPort* const one = request.port();
  if (!all && one == nullptr) return Status::bad_attribute_value;
  const std::uint64_t selected = request.sets() ? format.selected(request.data) : 0;
  CounterValues sums{};
  for (const ManagedPort& port : request.node.ports) {
    const bool is_meant = all ? port.number != 0 : &port == one;
    if (!is_meant) continue;
    reset(port, attribute, selected);
    const CounterValues values = read(port, attribute);
    std::ranges::transform(sums, values, sums.begin(), saturating_sum);
  }
  format.write(sums, data);
  data[kPortSelect] = request.data[kPortSelect];
  return Status::ok;
}

CounterValues PerformanceAgent::read(const ManagedPort& port, std::size_t attribute) {
  CounterValues values = counter_attributes()[attribute].read({counters_of(port), port});
  const auto state = ports_.find(port.id.value);
  if (state == ports_.end() || state->second.baselines[attribute] == nullptr) return values;
  std::ranges::transform(values, *state->second.baselines[attribute], values.begin(), std::minus<>{});
  return values;
}

// Writing anything but 0 has no defined result (IBTA 16.1.3.5), so all is written as 0.
void PerformanceAgent::reset(const ManagedPort& port, std::size_t attribute, std::uint64_t selected) {
  if (selected == 0) return;
  std::unique_ptr<CounterValues>& baseline = state_of(port).baselines[attribute];
  if (baseline == nullptr) baseline = std::make_unique<CounterValues>();
  const CounterValues values = counter_attributes()[attribute].read({counters_of(port), port});
  for (std::size_t bit = 0; bit < kSelectableCounters; ++bit) {
    if ((selected >> bit & 1) != 0) (*baseline)[bit] = values[bit];
  }
}

const PortCounters& PerformanceAgent::counters_of(const ManagedPort& port) {
  static constexpr PortCounters kNone{};
  const PortCounters* const counters = engine_.counters(port.id);
  return counters == nullptr ? kNone : *counters;
}

void PerformanceAgent::advance(const ManagedNode& node, const ManagedPort& endport, TimePoint now) {
  const auto state = ports_.find(endport.id.value);
  if (state == ports_.end()) return;
  PortSampler& sampler = state->second.sampler;
  const ManagedPort* const sampled = node.port(sampler.control().port_select);
  if (sampled != nullptr) sampler.advance(now, counters_of(*sampled));
}

TimePoint PerformanceAgent::next_deadline(const ManagedPort& endport) const {
  const auto state = ports_.find(endport.id.value);
  return state == ports_.end() ? kNever : state->second.sampler.next_deadline();
}

}  // namespace softrnic::fabric
