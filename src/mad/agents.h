// The agents of one port: programs that send and receive management datagrams by its QP0 and QP1. What Linux'
// ib_mad and ib_umad do, with their rules and errors (drivers/infiniband/core/mad.c, user_mad.c).
//
// A program opens the port, registers agents on what it has opened, and sends with them. What comes in goes
// to one agent: a response to the one whose request it answers, a request to the one that has registered for
// it. It waits in the queue of what that program has opened until it is taken.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"
#include "base/time.h"
#include "mad/agent_table.h"
#include "mad/mad.h"
#include "mad/peer.h"
#include "mad/pending_requests.h"
#include "mad/rmpp_transfers.h"

namespace softrnic::mad {

/// A port that was opened once, never 0.
struct OpenId : Strong<struct OpenIdTag, std::uint32_t> {
  using Strong::Strong;
};

/// What an agent sends. `message` is one datagram of 36 to 256 bytes, or as long as RMPP allows: all headers
/// once, and then the data of all segments.
struct Outgoing {
  Peer to{};
  std::uint32_t timeout_ms = 0;  ///< 0: no response is expected
  std::uint32_t retries = 0;
  Bytes message{};
};

/// What an agent gets: a message, joined from its segments, or a request of its own that nobody has answered.
struct Received {
  std::uint32_t agent = 0;                    ///< its number on what was opened
  Peer from{};                                ///< timed out: whom the request was for
  bool timed_out = false;                     ///< `message` is the header of the request alone
  std::uint32_t timeout_ms = 0, retries = 0;  ///< of that request
  std::vector<std::byte> message{};
};

/// What agents need of the port.
class AgentHost {
 public:
  virtual ~AgentHost() = default;
  /// A datagram of 256 bytes leaves by `queue`. Its response may come before this returns.
  virtual void send(Queue queue, const Peer& to, Bytes mad) = 0;
  /// Agents::front(open) has something, and had nothing before. It may be taken at once.
  virtual void received(OpenId open) = 0;
  virtual void explain(const Reason& reason) = 0;
};

struct PortRules {
  bool has_qp0 = false;
  std::uint8_t lmc = 0;
};

class Agents final : private TransferHost {
 public:
  static constexpr std::size_t kAgentsOfOpen = 32;      ///< IB_UMAD_MAX_AGENTS
  static constexpr std::size_t kPendingOfAgent = 8192;  ///< requests
  static constexpr std::size_t kMostWaiting = 8192;     ///< messages that one program has not taken
  static constexpr std::size_t kMostWaitingBytes = 64 << 20;
  static constexpr std::size_t kMostBytes = 16 << 20;  ///< of a message

  /// Both outlive this object.
  Agents(AgentHost& host, AgentIds& ids, PortRules rules) : host_(host), ids_(ids), rules_(rules) {}
  ~Agents() override;
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  void set_rules(PortRules rules) { rules_ = rules; }

  OpenId open();
  /// Its agents end, and what waits for them is gone.
  void close(OpenId open);

  /// The number of the new agent, below kAgentsOfOpen. EPROTONOSUPPORT: the port has no such queue pair.
  /// ENOMEM: there is no room. EINVAL: the registration is wrong, or what it wants is another agent's.
  Expected<std::uint32_t, Failure> add_agent(OpenId open, const Registration& wanted);
  /// Its requests and transfers end without a word; what it has received can still be taken. EINVAL: there is
  /// no such agent.
  Expected<void, Failure> remove_agent(OpenId open, std::uint32_t agent);

  /// Sends what `agent` wants, a request with the agent's own high half of the transaction ID. EIO: there is
  /// no such agent. EINVAL: the message is no datagram, or one like it still waits for its response. ENOMEM:
  /// too many wait.
  Expected<void, Failure> send(OpenId open, std::uint32_t agent, const Outgoing& outgoing, TimePoint now);

  enum class Receipt : std::uint8_t {
    taken,     ///< an agent has it
    dropped,   ///< it is no datagram for this queue pair, nobody waits for it any more, or its agent is slow
    unwanted,  ///< no agent has registered for it; see unwanted_response()
  };
  /// A datagram of 256 bytes has come to `queue`.
  Receipt receive(Queue queue, const Peer& from, Bytes mad, TimePoint now);

  /// The oldest message that waits; nullptr: none does. Good until the next call of another function.
  const Received* front(OpenId open) const;
  void pop(OpenId open);

  /// Sends again, and gives up, what is due.
  void advance(TimePoint now);
  TimePoint deadline() const { return std::min(pending_.deadline(), transfers_.deadline()); }

 private:
  struct Agent {
    OpenId open;
    std::uint32_t number = 0;
    Registration registration;
  };
  struct Open {
    std::array<AgentId, kAgentsOfOpen> agents{};  ///< AgentId(): a free number
    std::deque<Received> waiting;
    std::size_t waiting_bytes = 0;
  };

  std::optional<AgentId> id_of(OpenId open, std::uint32_t number) const;
  void end(AgentId agent);
  Expected<Request, Failure> make_request(AgentId id, const Outgoing& outgoing) const;
  /// Whether the agent's message goes by RMPP.
  bool is_transfer(AgentId agent, const Header& header, Bytes mad) const;
  std::optional<AgentId> find_taker(const Header& header, Bytes mad) const;
  Receipt complete(AgentId id, const Header& header, const Peer& from, Bytes message);
  Receipt deliver(const Agent& agent, const Peer& from, Bytes message);
  void give_up(const Request& request);
  void queue(OpenId open, Received received);

  // TransferHost
  void send_segment(Queue queue, const Peer& to, Bytes mad) override { host_.send(queue, to, mad); }
  void message_came(AgentId agent, const Peer& from, Bytes message, TimePoint now) override;
  void message_sent(const Request& request, bool is_acknowledged, TimePoint now) override;
  void explain_transfer(const Reason& reason) override { host_.explain(reason); }

  AgentHost& host_;
  AgentIds& ids_;
  PortRules rules_;
  AgentTable table_;
  PendingRequests pending_;
  RmppTransfers transfers_{*this};
  std::map<AgentId, Agent> agents_;
  std::map<OpenId, Open> opens_;
  std::uint32_t last_open_ = 0;
};

/// The response of a port to a request that no agent takes: Get and Set are told that their class or
/// attribute is not there (IBTA 13.4.7). Nothing: there is none.
std::optional<Mad> unwanted_response(Bytes mad);

}  // namespace softrnic::mad
