// ServiceRecords: what ports have registered with the subnet administrator, until their lease is over (IBTA
// 15.2.5.14).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/time.h"
#include "mad/sa_service_records.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

class Services {
 public:
  static constexpr std::size_t kMost = 1U << 14;
  static constexpr std::uint32_t kEndlessLease = 0xffffffff;

  mad::SaStatus set(const SaView& view, const SaRequest& request, TimePoint now, SaRecords& out);
  mad::SaStatus remove(const SaView& view, const SaRequest& request, SaRecords& out);
  void query(const SaView& view, const SaRequest& request, TimePoint now, SaRecords& out) const;

  void expire(TimePoint now);
  TimePoint deadline() const { return next_end_; }
  void clear() { services_.clear(); }
  std::size_t size() const { return services_.size(); }

 private:
  /// The record identifier.
  struct Key {
    std::uint64_t id = 0;
    wire::Gid gid;
    std::uint16_t p_key = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Service {
    mad::ServiceRecord record;
    TimePoint end = kNever;
  };
  static Key key_of(const mad::ServiceRecord& record) {
    return {record.service_id, record.service_gid, record.service_p_key};
  }
  bool may_register(const SaView& view, const SaRequest& request) const;

  std::map<Key, Service> services_;
  TimePoint next_end_ = kNever;  // not later than the first lease's
};

}  // namespace softrnic::subnet
