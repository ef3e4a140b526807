// A host that keeps what it is asked, for the test to answer.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "cma/host.h"

namespace softrnic::cma {

class Asked final : public Host {
 public:
  TimePoint now() override { return TimePoint{std::chrono::seconds(1)}; }
  std::uint32_t random_number() override { return 4; }
  void send(const mad::Address&, Bytes) override {}
  void resolve(IdNumber id, const RouteQuery& query) override { queries.emplace_back(id, query); }
  void cancel_resolve(IdNumber id) override { cancelled.push_back(id); }
  void find_path(IdNumber id, const PathQuery& query) override { paths.emplace_back(id, query); }
  void cancel_path(IdNumber id) override { cancelled_paths.push_back(id); }
  void join_group(MembershipNumber membership, const GroupQuery& query) override {
    groups.emplace_back(membership, query);
  }
  void leave_group(MembershipNumber membership) override { left.push_back(membership); }
  bool has_address(const wire::Gid& port, const wire::Gid& address) const override {
    return addresses.contains({port, address});
  }
  void event_queued(ChannelNumber) override {}
  void explain(const Reason&, const mad::Address&) override {}

  std::vector<std::pair<IdNumber, RouteQuery>> queries;
  std::vector<IdNumber> cancelled;
  std::vector<std::pair<IdNumber, PathQuery>> paths;
  std::vector<IdNumber> cancelled_paths;
  std::vector<std::pair<MembershipNumber, GroupQuery>> groups;
  std::vector<MembershipNumber> left;
  std::set<std::pair<wire::Gid, wire::Gid>> addresses;  ///< IP addresses of ports
};

}  // namespace softrnic::cma
