// Input: the memory of a ring of packets as a hostile local peer writes it. A byte of choices, the position
// that the reader claims (8 bytes), then what stands in the ring: once, or repeated up to its end.
//
// Whatever it is, the reader stays inside, comes to an end and stays broken when it is; a writer that takes
// the ring over stays inside; and what it writes behind records that were good is read.
#include <algorithm>
#include <memory>

#include "fuzz/check.h"
#include "samehost/packet_ring.h"
#include "wire/headers.h"

using namespace softrnic;

namespace {

constexpr unsigned kRepeat = 1, kGiveBack = 2;
/// Valid records that run in a circle would go on for ever when they are given back
constexpr int kMostPackets = 20'000;

bool inside(const samehost::PacketRing& ring, const void* begin, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(begin);
  return bytes == 0 || (at >= ring.records && at + bytes <= ring.records + samehost::kRingBytes);
}

void fill(samehost::PacketRing& ring, Bytes bytes, bool repeat) {
  std::fill(ring.records, ring.records + samehost::kRingBytes, std::byte{0});
  ring.read.store(0);
  if (bytes.empty()) return;
  std::size_t at = 0;
  do {
    const std::size_t part = std::min(bytes.size(), samehost::kRingBytes - at);
    std::copy_n(bytes.begin(), part, ring.records + at);
    at += (part + samehost::kRingLine - 1) / samehost::kRingLine * samehost::kRingLine;
  } while (repeat && at < samehost::kRingBytes);
}

void read_all(samehost::PacketRing& ring, samehost::RingReader& reader, bool give_back) {
  for (int i = 0; i < kMostPackets; ++i) {
    if (samehost::RingEagerSend message; reader.front(message)) {
      FUZZ_CHECK(inside(ring, message.eager.payload.data(), message.eager.payload.size()));
      FUZZ_CHECK(message.eager.payload.size() <= ib::EagerSend::kMostBytes);
      reader.pop();
      if (give_back) reader.give_back();
      continue;
    }
    const auto packet = reader.front();
    if (!packet) break;
    FUZZ_CHECK(inside(ring, packet->headers.data(), packet->headers.size()));
    FUZZ_CHECK(inside(ring, packet->pieces.data(), packet->pieces.size_bytes()));
    FUZZ_CHECK(packet->record.packets != 0);
    if (const auto parsed = wire::parse(packet->headers))
      FUZZ_CHECK(inside(ring, parsed->payload.data(), parsed->payload.size()));
    reader.pop();
    if (give_back) reader.give_back();
  }
  samehost::RingEagerSend message;
  if (reader.broken()) FUZZ_CHECK(!reader.any() && !reader.front() && !reader.front(message));
}

ib::TxPacket packet_of(const ib::AddressVector& path, Bytes payload, std::uint32_t psn) {
  ib::TxPacket tx;
  tx.path = &path;
  tx.headers.bth.opcode = wire::Opcode::rc_send_only;
  tx.headers.bth.psn = psn;
  tx.headers.bth.pad = wire::pad_for(static_cast<std::uint32_t>(payload.size()));
  tx.payload_bytes = static_cast<std::uint32_t>(payload.size());
  tx.fragments[tx.fragment_count++] = {payload.data(), payload.size(), MemoryKey(7)};
  return tx;
}

void take_over(samehost::PacketRing& ring, samehost::RingReader& reader, Bytes payload) {
  if (reader.broken() || reader.any()) return;
  reader.give_back();
  samehost::RingWriter writer(ring);
  const ib::AddressVector path;
  for (const std::uint32_t psn : {1U, 2U}) {
    FUZZ_CHECK(writer.write(packet_of(path, payload, psn), psn == 2));
    const auto packet = reader.front();
    FUZZ_CHECK(packet && packet->record.payload_bytes == payload.size());
    const auto parsed = wire::parse(packet->headers);
    FUZZ_CHECK(parsed && parsed->headers.bth.psn == psn);
    FUZZ_CHECK(psn == 2 ? packet->pieces.size() == 1
                        : std::equal(payload.begin(), payload.end(), parsed->payload.begin()));
    reader.pop();
  }
}

void write_behind_a_lie(samehost::PacketRing& ring, std::uint64_t position, Bytes payload) {
  ring.read.store(position);
  samehost::RingWriter writer(ring);
  const ib::AddressVector path;
  for (std::uint32_t psn = 0; psn < 64; ++psn) {
    static_cast<void>(writer.room());
    writer.write(packet_of(path, payload, psn), psn % 3 == 0);
  }
  const std::byte* const behind = ring.records + samehost::kRingBytes;
  const auto* const end = reinterpret_cast<const std::byte*>(&ring + 1);
  FUZZ_CHECK(std::all_of(behind, end, [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto ring = std::make_unique<samehost::PacketRing>();
  fuzz::Input input(data, size);
  const auto choices = input.take<std::uint8_t>();
  const auto position = input.take<std::uint64_t>();
  fill(*ring, input.rest(), (choices & kRepeat) != 0);
  samehost::RingReader reader(*ring);
  read_all(*ring, reader, (choices & kGiveBack) != 0);
  take_over(*ring, reader, input.rest());
  write_behind_a_lie(*ring, position, input.rest());
  return 0;
}
