// The performance management agent: counters and samples of a node's ports (IBTA 16.1).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/time.h"
#include "fabric/managed_node.h"
#include "fabric/performance_counters.h"
#include "fabric/performance_samples.h"
#include "mad/mad.h"

namespace softrnic::fabric {

class Engine;

/// Of all nodes. A counter that is reset goes on in the engine; what it had then is kept here and subtracted,
/// for each attribute by itself.
class PerformanceAgent {
 public:
  explicit PerformanceAgent(Engine& engine) : engine_(engine) {}

  /// A request of the class, which came by that port, which exists. It becomes the answer. False: it has
  /// none, being an answer itself.
  bool answer(const ManagedNode& node, std::uint8_t in_port, mad::Mad& mad, TimePoint now);

  /// Of the samples that the endport takes.
  void advance(const ManagedNode& node, const ManagedPort& endport, TimePoint now);
  TimePoint next_deadline(const ManagedPort& endport) const;

 private:
  using Baselines = std::array<std::unique_ptr<CounterValues>, kCounterAttributes>;
  struct PortState {
    Baselines baselines;  ///< nullptr: nothing was reset
    PortSampler sampler;  ///< of an endport
  };
  struct Request;
  using Handler = mad::Status (PerformanceAgent::*)(const Request& request, MutableBytes data);

  mad::Status serve(const Request& request, MutableBytes data);
  mad::Status serve_class_port_info(const Request& request, MutableBytes data);
  mad::Status serve_samples_control(const Request& request, MutableBytes data);
  mad::Status serve_samples_result(const Request& request, MutableBytes data);
  mad::Status serve_samples_result_extended(const Request& request, MutableBytes data);
  mad::Status serve_counters(const Request& request, std::size_t attribute, MutableBytes data);

  CounterValues read(const ManagedPort& port, std::size_t attribute);
  void reset(const ManagedPort& port, std::size_t attribute, std::uint64_t selected);
  const PortCounters& counters_of(const ManagedPort& port);
  /// What is kept of a port; made when it is needed first.
  PortState& state_of(const ManagedPort& port) { return ports_[port.id.value]; }

  Engine& engine_;
  std::unordered_map<std::uint32_t, PortState> ports_;  ///< by PortId
};

}  // namespace softrnic::fabric
