// A host whose ports have no LIDs, for the fuzzer of the connection manager: nobody asks it for anything.
#pragma once

#include "cma/host.h"
#include "fuzz/check.h"

namespace softrnic::fuzz {

class NoInfiniband : public cma::Host {
 public:
  void find_path(cma::IdNumber, const cma::PathQuery&) override { FUZZ_CHECK(false); }
  void cancel_path(cma::IdNumber) override { FUZZ_CHECK(false); }
  void join_group(cma::MembershipNumber, const cma::GroupQuery&) override { FUZZ_CHECK(false); }
  void leave_group(cma::MembershipNumber) override { FUZZ_CHECK(false); }
  bool has_address(const wire::Gid&, const wire::Gid&) const override {
    FUZZ_CHECK(false);
    return false;
  }

 protected:
  ~NoInfiniband() = default;
};

}  // namespace softrnic::fuzz
