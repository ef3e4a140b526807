// Automatic path migration (IBTA 17.2.8): what the packets of a connection say of its peer's path.
//
//   state      MigReq  came by                      news
//   migrated   any     any                          none
//   rearm      0       its path                     armed: the peer has an alternate path, too
//   rearm      1       its path                     none: the peer is not ready, or knows nothing of this
//   rearm      1       its alternate path           migrated: the peer was armed, but not heard
//   armed      0       its path                     none
//   armed      1       its alternate path           migrated: it is to follow
//   armed      1       its path, or half of the     refused, told once: the two sides have not loaded
//                      alternate one                the same path
//
// Whoever has migrated takes what still comes by the path that it has left, until its peer is heard by the
// new one: the answers are what makes the peer follow, if it has nothing to ask itself.
//
// MigReq is 1 in what leaves in state `migrated`, so also in all packets of those that know nothing of this.
// rxe sends 0 and knows nothing either: to it a QP becomes armed, and may migrate, but rxe does not follow.
#pragma once

#include <cstdint>

#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

enum class PathNews : std::uint8_t { none, armed, migrated, refused };

class PathMigration {
 public:
  /// The endpoint's, which outlive this object. Their state becomes `armed` here, all else is the endpoint's.
  explicit PathMigration(Attributes& attributes) : attributes_(attributes) {}

  /// The program has said something about it.
  void set() { refused_ = false; }
  /// The endpoint has migrated.
  void gone() { awaits_peer_ = true; }
  /// RESET.
  void reset() { refused_ = awaits_peer_ = false; }
  /// Whether packets of the path have news.
  bool listens() const { return attributes_.migration != Migration::migrated || awaits_peer_; }
  /// Whether there is a path to go to.
  bool ready() const { return attributes_.migration == Migration::armed; }
  PathNews hear(const RxPacket& packet);
  /// Whether a packet has come by the path that was left.
  bool left(const RxPacket& packet) const {
    const bool has_left = attributes_.migration == Migration::migrated && attributes_.alternate.loaded;
    return has_left && packet.source == attributes_.alternate.path.destination;
  }
  bool awaits_peer() const { return awaits_peer_; }

 private:
  Attributes& attributes_;
  bool refused_ = false;
  bool awaits_peer_ = false;  ///< it has not been heard since this side has migrated
};

}  // namespace softrnic::ib
