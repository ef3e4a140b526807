// Requests that wait for their response: found by transaction ID, sent again when their time is over, and
// given up after their last retry (IBTA 13.4.6.2, 13.4.6.3).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"
#include "mad/agent_table.h"
#include "mad/mad.h"
#include "mad/peer.h"

namespace softrnic::mad {

struct Request {
  AgentId agent;
  Queue queue = Queue::gsi;
  Peer to;
  Header header;
  Mad mad{};                     ///< of a longer message the first segment
  std::uint32_t timeout_ms = 0;  ///< of each attempt
  std::uint32_t retries = 0;     ///< as the agent wished
  std::uint32_t retries_left = 0;
};

class PendingRequests {
 public:
  /// Whether one like it waits already, so that a response could be for either.
  bool has_twin_of(const Request& request) const;
  void add(Request request, TimePoint now);
  /// Takes out the request that this response answers. It comes by the way that the request went: with a GRH
  /// to the same GID of ours, or without one to the same LID (`lmc`: of the port); directed routes have no
  /// addresses that could be compared.
  std::optional<Request> take_answered(AgentId agent, const Header& response, const Peer& from,
                                       std::uint8_t lmc);
  /// Whether there is one.
  bool awaits(AgentId agent, const Header& response, const Peer& from, std::uint8_t lmc) const;
  /// The next request whose time is over at `now`: to be sent again, its time runs anew, or (`expired`) given
  /// up, and taken out.
  struct Due {
    Request request;
    bool expired = false;
  };
  std::optional<Due> next_due(TimePoint now);
  void remove(AgentId agent);

  TimePoint deadline() const { return by_time_.empty() ? kNever : by_time_.begin()->first; }
  std::size_t size() const { return entries_.size(); }
  std::size_t count(AgentId agent) const;  ///< of one agent

 private:
  using Key = std::pair<AgentId, std::uint64_t>;  ///< agent, transaction
  struct Entry {
    Request request;
    TimePoint due;
  };
  using Entries = std::multimap<Key, Entry>;
  struct Earlier {
    bool operator()(const std::pair<TimePoint, Entries::iterator>& a,
                    const std::pair<TimePoint, Entries::iterator>& b) const {
      return a.first != b.first ? a.first < b.first : &*a.second < &*b.second;
    }
  };

  template <typename Map>
  static auto find(Map& entries, AgentId agent, const Header& response, const Peer& from, std::uint8_t lmc);
  void erase(Entries::iterator entry);

  Entries entries_;
  std::map<AgentId, std::size_t> counts_;
  std::set<std::pair<TimePoint, Entries::iterator>, Earlier> by_time_;
};

}  // namespace softrnic::mad
