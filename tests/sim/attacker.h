// A host that makes its packets itself: see Attack in config.h. It aims at
//
//   its own connection   every field may be wrong; what it sends may change only memory that it was given
//                        access to
//   RC of others         from the address of the true peer, with any PSN but those that would hit
//   UD without receives  valid datagrams
//   anybody              packets cut short, damaged, of unknown opcodes, for numbers that do not exist
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/node.h"
#include "transport/ib/rx_packet.h"
#include "wire/icrc.h"

namespace softrnic::sim {

/// What a packet carries whose length breaks the rules of its opcode (IBTA 9.7.4.1.6), so that nothing of it
/// may be found in any memory.
inline constexpr std::byte kForbidden{0xe7};
/// Whether a run of such bytes lies there, as long as chance does not make it.
bool holds_forbidden(Bytes bytes);

/// Packets that are sent at once.
struct Shot {
  std::uint32_t adapter = 0;
  wire::Flow flow;
  std::vector<std::vector<std::byte>> packets;  ///< BTH to pad
  std::uint32_t stands_for = 1;                 ///< of the path MTU, as the record of a ring says
  bool good_icrc = true;
};

class Attacker {
 public:
  Attacker(const Attack& attack, Rng rng, const std::vector<std::unique_ptr<Node>>& nodes)
      : attack_(attack), rng_(rng), nodes_(nodes) {}

  /// Nodes that are started and not gone can be aimed at. `rings`: paths are memory.
  Shot shoot(bool rings);
  /// `victim`, to which it is connected, has sent this.
  void hears(const Node& victim, const ib::RxPacket& packet);
  /// Whether packets of these PSNs would be taken for those of the true peer. Requests: the one that is
  /// expected is among them. Answers: a request may be outstanding.
  static bool would_hit(const Node& node, std::uint32_t psn, std::uint32_t packets, bool request);
  /// Whether a packet of ours that arrives there now hits after all, or acknowledges what a stingy peer does
  /// not: its PSN was used while it was under way.
  bool is_overtaken(const Node& node, const ib::RxPacket& packet) const;

 private:
  const Node* find_target(bool& own);
  Shot aim_at(const Node& to) const;
  void cut(std::vector<std::byte>& packet);
  Shot noise();
  Shot datagram(const Node& to);
  void request(const Node& to, bool own, bool rings, Shot& shot);
  void message(const Node& to, std::uint32_t psn, bool rings, Shot& shot);
  void answer(const Node& to, bool own, bool rings, Shot& shot);
  void read_responses(const Node& to, std::uint32_t psn, Shot& shot);
  std::uint32_t draw_psn(const Node& to, bool own, bool request, std::uint32_t packets);
  void draw_addresses(const Node& to, wire::Headers& headers);
  std::uint32_t draw_size(std::uint32_t mtu);
  void put(const Node& to, wire::Headers headers, std::uint32_t payload, std::uint32_t stands_for,
           Shot& shot);

  Attack attack_;
  Rng rng_;
  const std::vector<std::unique_ptr<Node>>& nodes_;
  std::uint32_t heard_ = 0;  ///< PSN of the latest request of its victim
};

}  // namespace softrnic::sim
