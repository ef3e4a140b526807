#include "fabric/packet.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "wire/headers.h"

namespace softrnic::fabric {
namespace {

constexpr std::size_t kPacketsAChunk = 256;
constexpr std::size_t kBthPkey = 2;
constexpr std::size_t kBthDestination = 5;

struct Layout {
  bool has_bth;
  std::uint8_t bth;       ///< where it begins
  std::uint8_t shortest;  ///< bytes of the shortest packet of this kind
};
/// By LNH (IBTA 7.7.5): raw with EtherType, raw IPv6, local, global.
constexpr std::array<Layout, 4> kLayouts = {{
    {false, 0, wire::kLrhBytes + 4 + wire::kIcrcBytes},
    {false, 0, wire::kLrhBytes + wire::kGrhBytes},
    {true, wire::kLrhBytes, wire::kLrhBytes + wire::kBthBytes + wire::kIcrcBytes},
    {true, wire::kLrhBytes + wire::kGrhBytes,
     wire::kLrhBytes + wire::kGrhBytes + wire::kBthBytes + wire::kIcrcBytes},
}};

}  // namespace

Bytes Packet::bytes() const {
  std::byte* const data = shared->data();
  wire::set_vl(std::span<std::byte, wire::kLrhBytes>(data, wire::kLrhBytes), vl);
  return {data, length};
}

Expected<Packet, PacketError> read_packet(Bytes bytes) {
  if (bytes.size() < wire::kLrhBytes || bytes.size() > kMaxPacketBytes) {
    return Unexpected{PacketError::bad_length};
  }
  const wire::LinkHeader header = wire::decode_link_header(bytes.first<wire::kLrhBytes>());
  const Layout& layout = kLayouts[static_cast<std::size_t>(header.next_header)];
  if (header.bytes_before_vcrc() != bytes.size() || bytes.size() < layout.shortest) {
    return Unexpected{PacketError::bad_length};
  }
  if (header.version != 0) return Unexpected{PacketError::bad_version};
  Packet packet;
  packet.dlid = header.dlid;
  packet.slid = header.slid;
  packet.length = static_cast<std::uint16_t>(bytes.size());
  packet.blocks = blocks_of(bytes.size());
  packet.sl = header.sl;
  packet.vl = header.vl;
  packet.raw = !layout.has_bth;
  if (layout.has_bth) {
    packet.pkey = load_be16(&bytes[layout.bth + kBthPkey]);
    packet.destination = Qpn(load_be24(&bytes[layout.bth + kBthDestination]));
  }
  return packet;
}

PacketPool::~PacketPool() {
  for (PacketBytes*& list : free_bytes_) {
    while (list != nullptr) drop_bytes(std::exchange(list, list->next_free));
  }
  // Packets that are still in use die with the fabric that holds them.
  for (const auto& chunk : chunks_) {
    for (std::size_t i = 0; i < kPacketsAChunk; ++i) {
      PacketBytes* const shared = chunk[i].shared;
      if (shared != nullptr && --shared->references == 0) drop_bytes(shared);
    }
  }
}

Packet* PacketPool::make(const Packet& fields, Bytes bytes) {
  PacketBytes* const shared = take_bytes(bytes.size());
  if (shared == nullptr) return nullptr;
  Packet* const packet = take_packet();
  if (packet == nullptr) {
    shared->next_free = std::exchange(free_bytes_[shared->size_class], shared);
    return nullptr;
  }
  std::memcpy(shared->data(), bytes.data(), bytes.size());
  shared->references = 1;
  *packet = fields;
  packet->shared = shared;
  return packet;
}

Packet* PacketPool::copy(const Packet& packet) {
  Packet* const again = take_packet();
  if (again == nullptr) return nullptr;
  *again = packet;
  again->next = nullptr;
  ++again->shared->references;
  return again;
}

void PacketPool::release(Packet* packet) {
  PacketBytes* const shared = std::exchange(packet->shared, nullptr);
  if (--shared->references == 0) {
    shared->next_free = std::exchange(free_bytes_[shared->size_class], shared);
  }
  packet->next = std::exchange(free_packets_, packet);
  --packets_in_use_;
}

Packet* PacketPool::take_packet() {
  if (packets_in_use_ >= limits_.packets) return nullptr;
  if (free_packets_ == nullptr) {
    chunks_.push_back(std::make_unique<Packet[]>(kPacketsAChunk));
    for (std::size_t i = 0; i < kPacketsAChunk; ++i) {
      Packet& packet = chunks_.back()[i];
      packet.next = std::exchange(free_packets_, &packet);
    }
  }
  ++packets_in_use_;
  return std::exchange(free_packets_, free_packets_->next);
}

PacketBytes* PacketPool::take_bytes(std::size_t size) {
  const auto fits = std::lower_bound(kSizes.begin(), kSizes.end(), size);
  if (fits == kSizes.end()) return nullptr;
  const auto size_class = static_cast<std::size_t>(fits - kSizes.begin());
  PacketBytes*& list = free_bytes_[size_class];
  if (list != nullptr) return std::exchange(list, list->next_free);
  const std::size_t whole = sizeof(PacketBytes) + *fits;
  if (!make_room(whole)) return nullptr;
  void* const memory = ::operator new(whole, std::nothrow);
  if (memory == nullptr) return nullptr;
  bytes_taken_ += whole;
  auto* const bytes = new (memory) PacketBytes;
  bytes->size_class = static_cast<std::uint8_t>(size_class);
  return bytes;
}

void PacketPool::drop_bytes(PacketBytes* bytes) {
  bytes_taken_ -= sizeof(PacketBytes) + kSizes[bytes->size_class];
  ::operator delete(bytes);
}

// Unused bytes of other sizes make room, or yesterday's small packets would keep out today's large ones.
bool PacketPool::make_room(std::size_t size) {
  for (PacketBytes*& list : free_bytes_) {
    while (bytes_taken_ + size > limits_.bytes && list != nullptr) {
      drop_bytes(std::exchange(list, list->next_free));
    }
  }
  return bytes_taken_ + size <= limits_.bytes;
}

}  // namespace softrnic::fabric
