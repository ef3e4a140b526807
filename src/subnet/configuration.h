// Brings settings to their ports, as many at a time as SmpRequests allow, and keeps what the ports have
// confirmed.
#pragma once

#include <cstddef>
#include <set>

#include "subnet/database.h"
#include "subnet/discovery.h"
#include "subnet/events.h"
#include "subnet/settings.h"
#include "subnet/smp_requests.h"

namespace softrnic::subnet {

class Configuration {
 public:
  Configuration(SmpRequests& requests, EventSink& events, std::uint64_t m_key)
      : requests_(requests), events_(events), m_key_(m_key) {}

  /// `database` stays until all is done; what ports confirm is kept up in its subnet.
  void apply(SubnetDatabase& database, const Settings& settings);
  bool is_done() const { return pending_ == 0; }
  /// Requests that were sent before are forgotten, as SmpRequests::clear has done.
  void abandon() { pending_ = 0; }

  /// Settings that were refused or not answered, since the last reset_failures().
  std::size_t failures() const { return failures_; }
  void reset_failures() { failures_ = 0; }

  SentAttributes& sent() { return sent_; }
  const SentAttributes& sent() const { return sent_; }

 private:
  void take(SubnetDatabase& database, const Setting& setting, const SmpResult& result);
  void fail(const SubnetDatabase& database, const Setting& setting, const SmpResult& result);

  SmpRequests& requests_;
  EventSink& events_;
  std::uint64_t m_key_;
  SentAttributes sent_;
  std::size_t pending_ = 0;
  std::size_t failures_ = 0;
};

}  // namespace softrnic::subnet
