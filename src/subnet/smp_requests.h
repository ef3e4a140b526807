// Requests of subnet management that wait for their answer: a bounded number of them is on the wire, the
// others wait for their turn; what is not answered in time is sent again, and in the end given up.
//
// Nothing is sent but by advance(), and no handler is called but by advance() and receive(). Handlers may
// send further requests and drop all.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "mad/field.h"
#include "mad/smp.h"
#include "subnet/datagrams.h"
#include "subnet/directed_path.h"

namespace softrnic::subnet {

/// Whoever is asked. Once a request to it was given up, those that wait for their turn are too, unsent: a
/// node that died would otherwise hold up a sweep port by port.
struct SmpTarget : Strong<struct SmpTargetTag, std::uint32_t> {
  using Strong::Strong;
};
inline constexpr SmpTarget kNoTarget{~0U};

struct SmpRequest {
  DirectedPath path;
  mad::Method method = mad::Method::get;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  std::uint64_t m_key = 0;
  std::array<std::byte, mad::kSmpDataBytes> data{};
  SmpTarget target = kNoTarget;
};

enum class SmpOutcome : std::uint8_t {
  answered,
  refused,    ///< by its status
  no_answer,  ///< to none of the attempts
};

struct SmpResult {
  SmpOutcome outcome = SmpOutcome::no_answer;
  std::uint16_t status = 0;
  std::array<std::byte, mad::kSmpDataBytes> data{};

  bool is_answered() const { return outcome == SmpOutcome::answered; }
  template <mad::Formatted M>
  M as() const {
    return mad::decode<M>(data);
  }
};
using SmpHandler = std::function<void(const SmpResult&)>;

struct SmpRequestOptions {
  unsigned most_on_wire = 4;                          ///< opensm: max_wire_smps
  Duration timeout = std::chrono::milliseconds(200);  ///< opensm: transaction_timeout
  unsigned retries = 3;                               ///< opensm: transaction_retries
};

struct SmpCounters {
  std::uint64_t requests = 0;  ///< without those sent again
  std::uint64_t sets = 0;      ///< of them
  std::uint64_t retries = 0;
  std::uint64_t given_up = 0;
  std::uint64_t stray = 0;  ///< answers to no request, or to another than the one of that transaction
};

class SmpRequests {
 public:
  SmpRequests(DatagramPort& port, const SmpRequestOptions& options) : port_(port), options_(options) {}

  /// Waits for its turn from now on.
  void send(const SmpRequest& request, SmpHandler handler);

  /// A response. False: it belongs to no request.
  bool receive(const mad::Smp& smp);
  /// Sends what may be sent, again if need be, and gives up what was not answered.
  void advance(TimePoint now);
  /// When advance() has something to do by itself.
  TimePoint deadline() const;

  /// All requests are forgotten with their handlers; targets are asked again.
  void clear();

  bool is_idle() const { return waiting_.empty() && on_wire_.empty(); }
  const SmpCounters& counters() const { return counters_; }

 private:
  struct Outstanding {
    SmpRequest request;
    SmpHandler handler;
    TimePoint deadline;
    unsigned retries_left = 0;
  };

  void transmit(std::uint32_t transaction, const SmpRequest& request);
  void give_up(TimePoint now);
  /// Transactions whose time is up.
  std::vector<std::uint32_t> due(TimePoint now) const;
  void fill_wire(TimePoint now);

  DatagramPort& port_;
  SmpRequestOptions options_;
  std::deque<Outstanding> waiting_;
  std::map<std::uint32_t, Outstanding> on_wire_;  // by transaction
  std::unordered_set<std::uint32_t> silent_;      // targets that did not answer
  std::uint32_t next_transaction_ = 1;
  SmpCounters counters_;
};

/// Requests of attributes.
template <typename Attribute>
SmpRequest get_smp(const DirectedPath& path, std::uint32_t modifier = 0) {
  SmpRequest request;
  request.path = path;
  request.attribute = Attribute::kAttribute;
  request.modifier = modifier;
  return request;
}
template <typename Attribute>
SmpRequest set_smp(const DirectedPath& path, const Attribute& value, std::uint32_t modifier = 0) {
  SmpRequest request = get_smp<Attribute>(path, modifier);
  request.method = mad::Method::set;
  mad::encode(value, request.data);
  return request;
}

}  // namespace softrnic::subnet
