// The transfers of RMPP (IBTA 13.6) of a port's agents: which datagrams belong to which, and when they are
// due. What a transfer says is rmpp_sender.h's and rmpp_receiver.h's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/reason.h"
#include "base/time.h"
#include "mad/agent_table.h"
#include "mad/mad.h"
#include "mad/peer.h"
#include "mad/pending_requests.h"
#include "mad/rmpp_receiver.h"
#include "mad/rmpp_sender.h"

namespace softrnic::mad {

/// What transfers need of their owner. Each of these may call the transfers again.
class TransferHost {
 public:
  virtual ~TransferHost() = default;
  virtual void send_segment(Queue queue, const Peer& to, Bytes mad) = 0;
  /// All segments of a message to the agent are there.
  virtual void message_came(AgentId agent, const Peer& from, Bytes message, TimePoint now) = 0;
  /// All segments of `request` are acknowledged, or it was given up.
  virtual void message_sent(const Request& request, bool is_acknowledged, TimePoint now) = 0;
  virtual void explain_transfer(const Reason& reason) = 0;
};

class RmppTransfers {
 public:
  static constexpr std::size_t kMostReceiving = 64;  ///< messages at a time
  static constexpr std::size_t kMostRemembered =
      1024;  ///< with those that have ended, and answer late segments

  explicit RmppTransfers(TransferHost& host) : host_(host) {}

  bool has_twin_of(const Request& request) const { return sendings_.contains(key_of(request)); }
  /// Sends the message of a request, which has `request.mad` as its headers. There is none like it.
  void send(const Request& request, Bytes message, TimePoint now);
  /// The agent asks anew, with a transaction that it had before: what has ended of that is no answer to it.
  void forget(AgentId agent, std::uint64_t transaction);
  /// A segment, or an answer to segments, for an agent; `mad` is whole. `may_begin`: a message may begin with
  /// it, as somebody waits for that. False: it is no part of anything.
  bool receive(AgentId agent, Queue queue, const Header& header, const Peer& from, Bytes mad, bool may_begin,
               TimePoint now);
  /// The transfers of the agent end without a word.
  void remove(AgentId agent);
  void advance(TimePoint now);
  TimePoint deadline() const;

 private:
  /// By which the datagrams of a transfer know each other. `is_response`: what carries the data.
  struct Key {
    AgentId agent;
    std::uint64_t transaction = 0;
    ManagementClass management_class{};
    bool is_response = false;
    bool has_grh = false;
    std::uint16_t lid = 0;  ///< without GRH
    wire::Gid gid{};        ///< with one
    auto operator<=>(const Key&) const = default;
  };
  struct Sending {
    Request request;
    RmppSender sender;
  };
  struct Receiving {
    Queue queue = Queue::gsi;
    Peer from{};
    RmppReceiver receiver;
    bool failure_told = false;
  };
  using Sendings = std::map<Key, Sending>;
  using Receivings = std::map<Key, Receiving>;

  static Key key_of(AgentId agent, const Header& header, const Peer& peer);
  static Key key_of(const Request& request) { return key_of(request.agent, request.header, request.to); }
  Receivings::iterator begin_receiving(const Key& key, Queue queue, const Peer& from);
  void drive(Sendings::iterator sending, TimePoint now);
  void drive(Receivings::iterator receiving, TimePoint now);
  std::size_t receiving_now() const;
  void forget_the_oldest();

  TransferHost& host_;
  Sendings sendings_;
  Receivings receivings_;
};

}  // namespace softrnic::mad
