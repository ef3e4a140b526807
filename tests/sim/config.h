// What one seed stands for: the machines, the queue pairs, the work and the faults of one run. Swarm testing:
// every seed switches some faults off and turns others up, so that rare combinations get runs of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/ib/types.h"

namespace softrnic::sim {

/// Chances are per packet.
struct Faults {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;
  Duration delay{1000};        ///< one way
  Duration jitter{0};          ///< added, uniformly; order on a path is kept
  Duration reorder_by{0};      ///< added to a packet that others may overtake
  Duration blackout_every{0};  ///< 0: none
  Duration blackout_length{0};
  Duration pause_every{0};  ///< a receiving adapter stands still; 0: never
  Duration pause_length{0};
  double gone = 0;   ///< chance that a piece of a payload that stayed with its sender cannot be fetched
  double taken = 0;  ///< chance that the word of an atomic is in other hands
  bool loses_packets() const { return loss > 0 || corrupt > 0 || blackout_every.count() > 0; }
  bool loses() const { return loses_packets() || gone > 0 || taken > 0; }
};

/// Paths without MTU, as between lanes of one host.
struct MemoryPaths {
  std::uint32_t longest_packet = 0;  ///< 0: all paths are networks
  std::uint32_t window = 0;
  std::uint32_t rendezvous_from = 0;  ///< RC payloads of so many bytes stay with their sender; 0: none does
  double eagers = 0;                  ///< chance that a message that can go as an ib::EagerSend does
  std::uint32_t changes = 0;          ///< how often the paths become a network, or memory again
  Duration changes_every{0};          ///< at most
};

/// What the links at both ends of a network do with packets of a message (link/packet_segmenter.h,
/// link/packet_coalescer.h).
struct Runs {
  std::uint32_t longest_packet =
      0;            ///< bytes that a packet may carry until it is taken apart; 0: it is never more than one
  double join = 0;  ///< chance that packets that come one behind the other are put together
  Duration gap{0};  ///< that may lie between them
};

/// A host that sends what it likes, and hears nothing but what is sent to it. Off the path: it forges
/// addresses. Whose queue pair number it knows it aims at. PSNs and Q_Keys it guesses: one packet in 2^24
/// would hit a PSN, one in 2^32 a Q_Key; here none does (Attacker::would_hit). To its own connection, if it
/// has one, it is a peer that knows all and keeps to nothing.
struct Attack {
  std::uint32_t shots = 0;       ///< 0: there is no attacker
  Duration gap{0};               ///< between shots, up to
  bool knows_qpns = false;       ///< also of queue pairs that are not its own
  std::uint32_t idle_pairs = 0;  ///< UD, whose Q_Keys are known and which post no receives
  bool stingy = false;           ///< it acknowledges nothing that it was sent, by no packet that is valid
};

/// One thing done wrong on purpose, to a pair of RC or UC queue pairs.
enum class Misdeed : std::uint8_t {
  none,
  bad_rkey,
  other_pd,
  out_of_range,
  region_access,
  qp_access,
  misaligned_atomic,
  bad_lkey,
  short_receive,
  bad_receive_lkey,
  deregister_target,
  deregister_source,
  bad_invalidate,
  unknown_srq,  ///< XRC
  count_,
};

/// Something that befalls one side of a pair at a time of its own.
enum class Incident : std::uint8_t { none, kill, flush, reset, drain, reconnect, count_ };

struct PairConfig {
  ib::QpType type{};
  bool xrc = false;  ///< of `type` rc: side 0 is an initiator, side 1 a target with two SRQs
  ib::QpType type_of(int side) const {
    if (!xrc) return type;
    return side == 0 ? ib::QpType::xrc_initiator : ib::QpType::xrc_target;
  }
  std::uint32_t mtu = 1024;
  std::uint32_t psn[2] = {0, 0};
  std::uint8_t timeout = 8;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 1;
  std::uint8_t reads = 4;  ///< max_rd_atomic and max_dest_rd_atomic
  std::uint32_t send_depth = 16;
  std::uint16_t send_sges = 4;
  std::uint32_t inline_bytes = 64;
  std::uint32_t receive_depth = 16;
  bool shared_receives = false;                 ///< both pairs of an adapter that say so share one queue
  Duration late_start{0};                       ///< side 1 becomes ready to receive only then
  Duration repost_delay{0};                     ///< a consumed receive comes back after up to this
  std::uint32_t work[2] = {50, 50};             ///< work requests each side posts
  std::uint64_t byte_budget = 500'000;          ///< of each side; afterwards messages are tiny
  std::uint32_t largest = 10'000;               ///< bytes of a message
  std::uint32_t op_weights[ib::kSendOps] = {};  ///< by ib::SendOp
  double unsignaled = 0;
  double fenced = 0;
  double inlined = 0;
  Duration gap{1000};  ///< between bursts of posts, up to
  std::uint32_t burst = 8;
  Misdeed misdeed = Misdeed::none;
  std::uint32_t misdeed_at = 0;  ///< index of the work request of side 0
  Incident incident = Incident::none;
  Duration incident_at{0};
  int incident_side = 0;
  bool hostile = false;  ///< side 1 is the attacker
  /// RC: there is an alternate path, and the first one goes dark for ever at some time.
  bool alternate = false;
  bool armed = false;  ///< from the beginning, or else by traffic
  Duration dark_at{0};
};

struct Config {
  std::uint64_t seed = 0;
  std::uint32_t adapters = 2;
  bool ipv6 = false;
  std::uint32_t window_bytes = 128 * 1024;
  std::uint32_t quantum = 16;  ///< packets a queue pair sends before others may
  Faults faults;
  MemoryPaths memory;
  Runs runs;
  Attack attack;
  std::vector<PairConfig> pairs;

  static Config from_seed(std::uint64_t seed);
  std::string describe() const;
};

const char* name(Misdeed misdeed);
const char* name(Incident incident);

}  // namespace softrnic::sim
