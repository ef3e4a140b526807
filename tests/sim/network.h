// The wire between the adapters: every packet is encoded to bytes with its ICRC, suffers what the faults have
// in store for it, and is checked and parsed again at the other end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/config.h"
#include "tests/sim/memory.h"
#include "tests/sim/rng.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"
#include "wire/icrc.h"

namespace softrnic::sim {

/// A part of a payload that stayed with its sender.
struct Piece {
  MemoryKey key;
  std::size_t offset = 0;  ///< in the region
  std::size_t size = 0;
};

/// A packet under way.
struct Flight {
  wire::Flow flow;
  std::vector<std::byte> bytes;  ///< BTH to ICRC
  std::uint32_t packets = 1;     ///< of the path MTU
  Memory* at = nullptr;          ///< the payload is still there, in `pieces`
  std::vector<Piece> pieces;
  bool eager = false;            ///< arrives as an ib::EagerSend
  std::uint32_t connection = 0;  ///< of its sender
  bool hostile = false;          ///< an attacker has made it
  bool used = false;
};

/// What becomes of a packet that is sent.
struct Fate {
  bool lost = false;
  bool corrupted = false;
  bool overtaken = false;
  int copies = 1;
  TimePoint at[2];
};

class Network {
 public:
  Network(const Faults& faults, std::uint32_t adapters, std::uint64_t seed);

  /// Encodes `packet` into a free place and returns its number; an empty `error` means it is well-formed.
  /// `stays_in`: where the payload is left; nullptr: it goes along.
  std::uint32_t encode(const ib::TxPacket& packet, Memory* stays_in, std::string& error);
  /// A packet that somebody else has made: BTH to pad. It stands for `packets`, as a ring's record may say.
  std::uint32_t inject(const wire::Flow& flow, Bytes body, std::uint32_t packets, bool good_icrc);
  /// A packet that was seen before.
  std::uint32_t inject(const Flight& seen);
  /// It is to arrive as an eager send of the sender's connection of that number.
  void make_eager(std::uint32_t flight, std::uint32_t connection);
  Fate draw_fate(std::uint32_t from, std::uint32_t to, TimePoint now);
  void corrupt(std::uint32_t flight);
  std::uint32_t copy(std::uint32_t flight);
  /// Changes the last payload byte and makes the ICRC fit: a fault of the transport, not of the wire.
  void falsify(std::uint32_t flight);

  /// Verifies the ICRC and parses; false: dropped.
  bool decode(std::uint32_t flight, ib::RxPacket& packet, std::string& error) const;
  /// Bytes of a payload that stayed with its sender. False: they are not to be had.
  bool fetch(std::uint32_t flight, std::size_t offset, std::byte* to, std::size_t size);
  void release(std::uint32_t flight);

  /// When an adapter that stands still at `now` goes on; `now` when it does not.
  TimePoint awake(std::uint32_t adapter, TimePoint now) const;

  const Flight& flight(std::uint32_t index) const { return flights_[index]; }
  /// What the transport gets of it: BTH to pad.
  Bytes body(std::uint32_t index) const {
    const Bytes bytes = flights_[index].bytes;
    return bytes.first(bytes.size() - wire::kIcrcBytes);
  }
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t packets() const { return packets_; }
  std::size_t under_way() const { return under_way_; }
  /// From here on nothing is lost, copied or late.
  void heal() { healed_ = true; }

 private:
  bool dark(TimePoint now) const;
  std::uint32_t take_place();
  void put_payload(const ib::TxPacket& packet, Flight& flight, std::size_t at, std::string& error) const;
  void leave_payload(const ib::TxPacket& packet, Flight& flight, std::string& error) const;

  Faults faults_;
  Rng rng_;
  std::uint32_t adapters_;
  std::vector<TimePoint> last_arrival_;  ///< by path
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;
  std::uint64_t duplicates_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t packets_ = 0;
  std::size_t under_way_ = 0;
  bool healed_ = false;
};

}  // namespace softrnic::sim
