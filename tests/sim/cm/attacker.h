// A host that wants to end other hosts' connections, to keep them from connecting, or to have third ones
// flooded.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>

#include "cm/messages.h"
#include "mad/address.h"
#include "tests/sim/rng.h"

namespace softrnic::sim::cm_world {

class World;

/// What it can do besides sending from its own address. Who sees the datagrams and can forge addresses as
/// well is on the path, and may do what he likes.
enum class Knowledge : std::uint8_t {
  none,
  addresses,  ///< GIDs, CA GUIDs and numbers of queue pairs; it forges its source address
  ids,        ///< everything that is in the datagrams; it cannot forge the addresses of those that sent them
};

class Attacker {
 public:
  Attacker(World& world, std::uint64_t seed, Knowledge knowledge);

  /// Does something at some node.
  void act();
  /// Of an honest node, on its way.
  void overhear(std::size_t to, const mad::Mad& mad);
  /// Came to an address that it made up, or to its own.
  void receive(const mad::Address& address, std::size_t from, const mad::Mad& mad);

  /// Requests of its own bear tokens of this kind.
  static bool is_token(std::uint64_t token) { return token >> 63 != 0; }
  /// Addresses that nobody has; it never answers what comes there.
  static bool is_nowhere(const wire::Gid& gid);

 private:
  struct Overheard {
    std::size_t to;
    mad::Mad mad;
  };

  void send_noise(std::size_t to);
  void flood(std::size_t to);
  void name_a_queue_pair(std::size_t to);
  void guess(std::size_t to);
  void use_ids();
  void connect_itself(std::size_t to);
  cm::Req request();
  cm::SidrReq question();
  wire::Gid nowhere();
  std::uint32_t number() { return static_cast<std::uint32_t>(rng_.next()); }

  World& world_;
  Rng rng_;
  Knowledge knowledge_;
  std::uint64_t next_token_ = std::uint64_t{1} << 63;
  std::deque<Overheard> overheard_;
  std::map<std::uint32_t, Qpn> queue_pairs_;            ///< by the ID of the side that has it
  std::deque<std::pair<std::uint64_t, Qpn>> of_peers_;  ///< CA GUID and queue pair
};

}  // namespace softrnic::sim::cm_world
