// A light sweep: whether anything changed since the last heavy one. Each switch is asked for its
// PortStateChange (IBTA 14.2.5.4), the manager's own port for its state, and other managers for theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "subnet/smp_requests.h"
#include "subnet/subnet.h"

namespace softrnic::subnet {

class LightSweep {
 public:
  explicit LightSweep(SmpRequests& requests, std::uint64_t m_key) : requests_(requests), m_key_(m_key) {}

  /// `subnet` stays until the sweep is done.
  void start(const Subnet& subnet);
  bool is_done() const { return pending_ == 0; }

  /// What follows is complete when done. A switch that does not answer is a change too.
  bool found_change() const { return found_change_; }
  const std::vector<RemoteManager>& managers() const { return managers_; }

 private:
  template <typename Attribute, typename Take>
  void ask(const Subnet& subnet, NodePort port, std::uint32_t modifier, Take take);

  SmpRequests& requests_;
  std::uint64_t m_key_;
  std::size_t pending_ = 0;
  bool found_change_ = false;
  std::vector<RemoteManager> managers_;
};

}  // namespace softrnic::subnet
