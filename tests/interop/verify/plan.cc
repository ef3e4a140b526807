#include "tests/interop/verify/plan.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace interop {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

struct Chance {
  std::uint64_t state;
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((state = mix(state)) % bound);
  }
};

// Sizes at which something changes: nothing, padding, alignment, one packet, two, many.
std::uint32_t choose_size(Chance& chance, const Settings& s) {
  const std::uint32_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 4,
                                 5,
                                 7,
                                 8,
                                 9,
                                 63,
                                 64,
                                 65,
                                 255,
                                 256,
                                 257,
                                 1000,
                                 s.mtu - 1,
                                 s.mtu,
                                 s.mtu + 1,
                                 2 * s.mtu - 1,
                                 2 * s.mtu,
                                 2 * s.mtu + 1,
                                 3 * s.mtu + 5,
                                 10000,
                                 65535,
                                 65536,
                                 65537,
                                 1 << 20};
  const std::uint32_t limit = s.datagrams ? s.mtu : s.max_size;
  if (chance.below(3) == 0) return chance.below(std::min(limit, 70000u) + 1);
  std::uint32_t size = 0;
  do size = edges[chance.below(static_cast<std::uint32_t>(std::size(edges)))];
  while (size > limit);
  return size;
}

Kind choose_kind(Chance& chance, const Settings& s) {
  static constexpr Kind kAll[] = {Kind::send,         Kind::send_imm,  Kind::write,
                                  Kind::write_imm,    Kind::read,      Kind::read,
                                  Kind::compare_swap, Kind::fetch_add, Kind::atomic_write};
  return kAll[chance.below(s.datagrams ? 2 : s.lossy ? 4 : static_cast<std::uint32_t>(std::size(kAll)))];
}

std::uint64_t word_at(std::uint64_t number, std::size_t word) { return mix((number << 32) ^ word); }

// Calls check(byte, expected) for every byte until it says false.
template <typename Check>
bool every_byte(std::span<const std::byte> memory, std::uint64_t number, Check check) {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const std::byte expected{static_cast<unsigned char>(word_at(number, i / 8) >> (i % 8 * 8))};
    if (!check(memory[i], expected)) return false;
  }
  return true;
}

}  // namespace

std::size_t slot_memory(const Settings& s) { return kBatch * (s.max_size + 3 * kGuard) + kGuard; }

std::vector<Operation> make_batch(const Settings& s, std::uint32_t batch) {
  Chance chance{mix(s.seed) ^ mix(batch + 1)};
  const std::uint32_t first = batch * static_cast<std::uint32_t>(kBatch);
  const std::size_t count = std::min<std::size_t>(kBatch, s.messages - first);
  std::vector<Operation> operations(count);
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Operation& o = operations[i];
    o.kind = choose_kind(chance, s);
    if (s.lossy && i + 1 == count) o.kind = Kind::send_imm;
    o.number = first + static_cast<std::uint32_t>(i);
    o.size = o.is_word() ? 8 : choose_size(chance, s);
    o.pieces = o.is_atomic() ? 1 : 1 + chance.below(3);
    o.slack = chance.below(2) * chance.below(100);
    o.inlined = o.size <= kInline && !o.is_atomic() && o.kind != Kind::read && chance.below(2) == 0;
    o.offset = o.is_word() ? (end + kGuard + 7) / 8 * 8 : end + kGuard + chance.below(64);
    end = o.offset + o.size;
  }
  return operations;
}

void fill(std::span<std::byte> memory, std::uint64_t number) {
  for (std::size_t i = 0; i < memory.size(); i += 8) {
    const std::uint64_t word = word_at(number, i / 8);
    std::memcpy(memory.data() + i, &word, std::min<std::size_t>(8, memory.size() - i));
  }
}

bool matches(std::span<const std::byte> memory, std::uint64_t number) {
  return every_byte(memory, number, [](std::byte have, std::byte expected) { return have == expected; });
}

bool partly_matches(std::span<const std::byte> memory, std::uint64_t number) {
  return every_byte(memory, number, [](std::byte have, std::byte expected) {
    return have == expected || have == kUntouched;
  });
}

bool untouched(std::span<const std::byte> memory) {
  return std::ranges::all_of(memory, [](std::byte b) { return b == kUntouched; });
}

std::uint64_t atomic_start(const Operation& o) { return mix(o.number ^ 0xa70); }
std::uint64_t atomic_compare(const Operation& o) {
  return o.number % 2 == 0 ? atomic_start(o) : ~atomic_start(o);
}
std::uint64_t atomic_operand(const Operation& o) { return mix(o.number ^ 0x0b5); }

std::uint64_t atomic_result(const Operation& o) {
  if (o.kind == Kind::fetch_add) return atomic_start(o) + atomic_operand(o);
  return atomic_compare(o) == atomic_start(o) ? atomic_operand(o) : atomic_start(o);
}

}  // namespace interop
