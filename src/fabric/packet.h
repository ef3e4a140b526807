// A packet in flight, and where its bytes lie.
//
// A `Packet` is what one hop needs to know; copies of a multicast packet share the bytes. Both come from a
// pool, so that a hop allocates nothing.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/strong.h"
#include "fabric/types.h"

namespace softrnic::fabric {

/// Where the bytes of a packet lie, behind this header.
struct PacketBytes {
  PacketBytes* next_free = nullptr;
  std::uint32_t references = 0;
  std::uint8_t size_class = 0;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

struct Packet {
  static constexpr std::uint8_t kByTables = 255;

  Packet* next = nullptr;  ///< behind it in the same buffer
  PacketBytes* shared = nullptr;
  TimePoint arrived{};  ///< in the node where it is
  Qpn destination;      ///< of the BTH; 0 of a raw packet
  wire::Lid dlid;
  wire::Lid slid;
  std::uint16_t length = 0;  ///< bytes from the LRH to the ICRC
  std::uint16_t blocks = 0;  ///< of 64 bytes, with the VCRC
  std::uint16_t pkey = 0;    ///< of the BTH
  std::uint8_t sl = 0;
  std::uint8_t vl = 0;               ///< of the link it came over, or leaves by
  std::uint8_t way_out = kByTables;  ///< the port that management sends it through
  bool raw = false;                  ///< without BTH, and so without P_Key
  bool damaged = false;              ///< its VCRC is wrong where it leaves

  bool is_management() const { return vl == kManagementVl; }
  /// To QP0 or QP1, which managers and agents own (IBTA 3.9.4).
  bool is_for_agents() const { return is_management() || (!raw && destination.value <= 1); }
  /// LRH to ICRC, with the VL of now. Copies share them: valid until another copy is asked for its own.
  Bytes bytes() const;
};

enum class PacketError : std::uint8_t {
  bad_length,   ///< shorter than its headers, longer than any packet, or not what PktLen says
  bad_version,  ///< LVer is not 0
};

/// Reads what hops need of a packet, LRH to ICRC. `shared` is not set.
Expected<Packet, PacketError> read_packet(Bytes bytes);

/// All packets of a fabric. Memory is bounded whatever is asked of it.
class PacketPool {
 public:
  struct Limits {
    std::size_t bytes = 256U << 20;  ///< that packets take, unused ones kept for the next included
    std::size_t packets = 1U << 20;  ///< copies of multicast packets included; each takes 48 bytes more
  };

  explicit PacketPool(const Limits& limits) : limits_(limits) {}
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;
  ~PacketPool();

  /// A packet of `bytes`, which read_packet() has read as `fields`; null when the limits are reached.
  Packet* make(const Packet& fields, Bytes bytes);
  /// The same bytes once more; null when the limits are reached.
  Packet* copy(const Packet& packet);
  void release(Packet* packet);

  std::size_t bytes_taken() const { return bytes_taken_; }
  std::size_t packets_in_use() const { return packets_in_use_; }

 private:
  /// Control packets, datagrams of management, and one for each MTU.
  static constexpr std::array<std::uint16_t, 6> kSizes = {64, 128, 384, 1152, 2176, kMaxPacketBytes};

  Packet* take_packet();
  PacketBytes* take_bytes(std::size_t size);
  void drop_bytes(PacketBytes* bytes);
  bool make_room(std::size_t size);

  Limits limits_;
  std::size_t bytes_taken_ = 0;
  std::size_t packets_in_use_ = 0;
  Packet* free_packets_ = nullptr;
  std::array<PacketBytes*, kSizes.size()> free_bytes_{};
  std::vector<std::unique_ptr<Packet[]>> chunks_;
};

}  // namespace softrnic::fabric
