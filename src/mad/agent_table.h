// Which agent takes which requests: registrations by class, version, OUI and method. The rules are those of
// Linux' ib_register_mad_agent, as programs depend on them.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"
#include "mad/mad.h"
#include "mad/peer.h"

namespace softrnic::mad {

/// An agent of a port, never 0. It stands in the high 32 bits of the transaction IDs of the agent's requests,
/// so that responses find back (IBTA 13.4.6.4 leaves the ID to the requester).
struct AgentId : Strong<struct AgentIdTag, std::uint32_t> {
  using Strong::Strong;
};

/// The agents of all ports of a process: a response that comes to the wrong port finds nobody there.
class AgentIds {
 public:
  /// One that nobody has. The lowest 24 bits alone, as drivers use the highest byte of transactions.
  AgentId take();
  void give_back(AgentId agent) { used_.erase(agent); }

 private:
  std::set<AgentId> used_;
  std::uint32_t last_ = 0;
};

struct Registration {
  Queue queue = Queue::gsi;
  ManagementClass management_class{};  ///< 0: the agent takes no requests, and may send
  std::uint8_t class_version = 0;
  std::uint32_t oui = 0;          ///< 24 bits; of vendor range 2
  std::bitset<128> methods;       ///< of requests that it takes
  std::uint8_t rmpp_version = 0;  ///< 0 or 1
  bool does_rmpp_itself = false;  ///< with an RMPP version: segments come and go as they are

  /// What this agent sends and receives is cut into segments and joined here.
  bool uses_rmpp() const { return rmpp_version != 0 && !does_rmpp_itself; }
};

/// EINVAL: no such agent can be, whoever else is there.
Expected<void, Failure> check_registration(const Registration& registration);

class AgentTable {
 public:
  static constexpr std::size_t kOuisOfClass = 8;

  /// EINVAL: another agent takes one of the methods; nothing has changed. ENOMEM: the class has kOuisOfClass
  /// OUIs.
  Expected<void, Failure> add(AgentId agent, const Registration& registration);
  void remove(AgentId agent);
  /// Who takes a request; `mad` is whole.
  std::optional<AgentId> find(const Header& header, Bytes mad) const;

 private:
  using ClassKey = std::tuple<std::uint8_t, ManagementClass, std::uint32_t>;  ///< version, class, OUI
  using Methods = std::array<AgentId, 128>;                                   ///< AgentId(): nobody

  std::size_t ouis_of(std::uint8_t version, ManagementClass management_class) const;

  std::map<ClassKey, Methods> classes_;
};

}  // namespace softrnic::mad
