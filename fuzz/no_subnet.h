// A host without InfiniBand: nobody asks its connection manager for paths and groups of a subnet.
#pragma once

#include "cma/host.h"

namespace softrnic::fuzz {

class HostWithoutSubnet : public cma::Host {
 public:
  void find_path(cma::IdNumber, const cma::PathQuery&) override {}
  void cancel_path(cma::IdNumber) override {}
  void join_group(cma::MembershipNumber, const cma::GroupQuery&) override {}
  void leave_group(cma::MembershipNumber) override {}
  bool has_address(const wire::Gid&, const wire::Gid&) const override { return false; }

 protected:
  ~HostWithoutSubnet() = default;
};

}  // namespace softrnic::fuzz
