// One adapter of the simulation: a connection manager, and a program above it that keeps a record of every
// ID.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cm/manager.h"

namespace softrnic::sim::cm_world {

class World;

inline constexpr cm::ServiceId kService(0x1061c06);
/// Small, so that floods reach them.
inline constexpr cm::Limits kLimits{.half_open = 64,
                                    .half_open_peer = 48,
                                    .strangers = 4,
                                    .strangers_a_second = 16,
                                    .held = 48,
                                    .held_peer = 32,
                                    .asked = 48,
                                    .asked_peer = 4,
                                    .refused = 64,
                                    .refused_peer = 48,
                                    .connections = 1024};

/// What the program did with an ID and was told about it.
struct Side {
  std::uint64_t token = 0;  ///< of the attempt, the same at both ends
  bool active = false;
  bool sidr = false;
  int process = 0;
  bool accepted = false;      ///< passive: reply() was called
  bool established = false;   ///< confirm() was called, or the event came
  bool asked_to_end = false;  ///< disconnect() was called
  bool refused = false;       ///< reject(), or destroy() before it was established
  bool unreachable = false;
  bool ended = false;  ///< a last event came, or this side refused
  bool destroyed = false;
  bool left_timewait = false;
  bool alive() const { return established && !ended && !destroyed; }
};

class Node final : public cm::Host {
 public:
  Node(World& world, std::size_t index);

  // cm::Host
  void send(const mad::Address& to, Bytes mad) override;
  void event(const cm::Event& event) override;
  std::uint32_t random_number() override;
  void explain(const Reason&, const mad::Address&) override {}

  cm::Manager& manager() { return *manager_; }
  void receive(mad::Address from, Bytes mad);
  const std::map<std::uint32_t, Side>& sides() const { return sides_; }
  /// The side of an attempt on this node; nullptr when it never heard of it, or has crashed since.
  const Side* find(std::uint64_t token, bool active) const;

  void connect(std::uint64_t token, std::size_t peer);
  void resolve(std::uint64_t token, std::size_t peer);
  /// Destroys all ids of a process at once, as when it is killed.
  void kill(int process);
  /// The host restarts: a new manager that knows nothing, and the same numbers of queue pairs again.
  void crash();
  /// Ends whatever is still there in an orderly way; destroys what has ended.
  void wind_up();
  void destroy_all();

 private:
  void start();
  Side& open(cm::Id id, std::uint64_t token, bool active);
  void be_credulous(mad::Address& from, Bytes mad);
  void end_what_seems_stale(Bytes mad);
  void note(Side& side, const cm::Event& event);
  void decide(cm::Id id, const cm::Event& event);
  void on_request(cm::Id id);
  void on_reply(cm::Id id);
  void on_established(cm::Id id);
  void accept(cm::Id id);
  void first_packet(cm::Id id);
  void confirm(cm::Id id);
  void reject(cm::Id id);
  void disconnect(cm::Id id);
  void destroy(cm::Id id);
  /// Soon, in a while or at once; unless the id is gone by then.
  void some_time_later(cm::Id id, int at_most_us, void (Node::*action)(cm::Id));
  Side* live(cm::Id id);
  /// Whether the other side of an honest attempt has given a cause for its end.
  bool peer_ended(const Side& side) const;
  void require(bool condition, cm::Id id, const cm::Event& event, const char* promise);

  World& world_;
  std::size_t index_;
  std::unique_ptr<cm::Manager> manager_;
  std::map<std::uint32_t, Side> sides_;
  std::map<std::pair<std::uint64_t, bool>, std::uint32_t> ids_;  ///< the last by token, and active or not
  // of mutants
  std::set<std::pair<std::uint32_t, std::uint32_t>> said_;  ///< message and ID that were sent before
  std::map<std::uint32_t, wire::Gid> peers_;                ///< whom messages with this ID of ours went to
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> connected_;  ///< token by CA GUID and QPN
  std::uint32_t next_qpn_ = 0x100;
  int life_ = 0;  ///< counts crashes: what was planned before one is void
};

/// The address of a node as its peers see it.
wire::Gid gid_of(std::size_t node);
std::size_t node_of(const wire::Gid& gid);

}  // namespace softrnic::sim::cm_world
