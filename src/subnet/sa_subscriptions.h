// InformInfo: who wants to hear of which notices, and the reports that they are sent until they confirm them
// (IBTA 13.4.8.3, 13.4, 15.2.5.12).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "mad/notice.h"
#include "mad/sa_service_records.h"
#include "subnet/multicast_groups.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

class Subscriptions {
 public:
  static constexpr std::size_t kMost = 1U << 14;
  static constexpr std::size_t kMostReports = 1U
                                              << 14;  ///< that wait to be confirmed; of more, nobody is told
  static constexpr Duration kTimeout = std::chrono::seconds(1);
  static constexpr unsigned kRetries = 3;

  explicit Subscriptions(DatagramPort& port) : port_(port) {}

  /// A Set of InformInfo: subscribes or unsubscribes.
  mad::SaStatus set(const SaView& view, const SaRequest& request, SaRecords& out);
  void query(const SaView& view, const SaRequest& request, SaRecords& out) const;

  /// Tells all who want to hear of it and may. `p_key`: of the multicast group that traps 66 and 67 are
  /// about.
  void report(const SaView& view, const mad::Notice& notice, std::uint16_t p_key, TimePoint now);
  /// A ReportResp.
  void confirm(const DatagramAddress& from, std::uint64_t transaction);

  void advance(TimePoint now);
  TimePoint deadline() const { return next_retry_; }
  /// Subscriptions of ports that are gone end.
  void keep_only(const Graph& graph);
  void clear();
  std::size_t size() const { return subscriptions_.size(); }

 private:
  struct Subscription {
    Guid port;
    std::uint16_t enumeration = 0;  ///< tells those of a port apart
    DatagramAddress address;
    mad::InformInfo info;
  };
  struct Report {
    DatagramAddress to;
    mad::Mad mad{};
    TimePoint deadline;
    unsigned retries_left = kRetries;
  };

  std::vector<Subscription>::iterator find(const DatagramAddress& from, const mad::InformInfo& info);
  std::uint16_t free_enumeration(Guid port) const;
  void send(const Subscription& to, const mad::Notice& notice, TimePoint now);

  DatagramPort& port_;
  std::vector<Subscription> subscriptions_;
  std::map<std::uint32_t, Report> reports_;  // by transaction
  std::uint32_t next_transaction_ = 1;
  TimePoint next_retry_ = kNever;  // not later than the first report's
};

}  // namespace softrnic::subnet
