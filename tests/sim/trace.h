// What happened, in the order it happened: a ring of small records that become text only when somebody reads
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/ib/types.h"

namespace softrnic::sim {

enum class What : std::uint8_t {
  posted,
  sent,
  lost,
  duplicated,
  corrupted,
  delayed,
  arrived,
  send_done,
  recv_done,
  event,
  take,
  took_none,
  reposted,
  expired,
  drained,
  action,
  explained,
  executed,  ///< a bind or invalidate
};

struct Record {
  TimePoint at{};
  What what{};
  std::uint32_t node = 0;
  std::uint64_t a = 0, b = 0, c = 0;
  Reason reason;
};

class Trace {
 public:
  explicit Trace(std::size_t capacity) : ring_(capacity) {}
  void add(const Record& record) { ring_[written_++ % ring_.size()] = record; }
  /// The latest `count` records, oldest first, a line each.
  std::string tail(std::size_t count) const;

 private:
  std::vector<Record> ring_;
  std::size_t written_ = 0;
};

/// "name" of enumerators, for messages.
const char* name(ib::SendOp op);
const char* name(ib::Status status);
const char* name(ib::QpType type);
const char* name(ib::QpEvent event);

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace softrnic::sim
