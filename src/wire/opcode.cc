#include "wire/opcode.h"

#include <array>

namespace softrnic::wire {
namespace {

using enum Operation;
using enum Position;
using enum PayloadRule;
using Op = Opcode;
constexpr auto kRc = Service::rc;
constexpr auto kUc = Service::uc;
constexpr auto kUd = Service::ud;
constexpr auto kXrc = Service::xrc;

// Atomic requests and acknowledges, READ requests and FLUSH stand alone: their position is `only`.
constexpr OpcodeInfo kOpcodes[] = {
    {Op::rc_send_first, "RC Send First", kRc, send, first, 0, exactly_mtu, true},
    {Op::rc_send_middle, "RC Send Middle", kRc, send, middle, 0, exactly_mtu, true},
    {Op::rc_send_last, "RC Send Last", kRc, send, last, 0, one_to_mtu, true},
    {Op::rc_send_last_imm, "RC Send Last Immediate", kRc, send, last, kImmDt, one_to_mtu, true},
    {Op::rc_send_only, "RC Send Only", kRc, send, only, 0, zero_to_mtu, true},
    {Op::rc_send_only_imm, "RC Send Only Immediate", kRc, send, only, kImmDt, zero_to_mtu, true},
    {Op::rc_write_first, "RC RDMA Write First", kRc, write, first, kReth, exactly_mtu, true},
    {Op::rc_write_middle, "RC RDMA Write Middle", kRc, write, middle, 0, exactly_mtu, true},
    {Op::rc_write_last, "RC RDMA Write Last", kRc, write, last, 0, one_to_mtu, true},
    {Op::rc_write_last_imm, "RC RDMA Write Last Immediate", kRc, write, last, kImmDt, one_to_mtu, true},
    {Op::rc_write_only, "RC RDMA Write Only", kRc, write, only, kReth, zero_to_mtu, true},
    {Op::rc_write_only_imm, "RC RDMA Write Only Immediate", kRc, write, only, kReth | kImmDt, zero_to_mtu,
     true},
    {Op::rc_read_request, "RC RDMA Read Request", kRc, read_request, only, kReth, none, true},
    {Op::rc_read_response_first, "RC RDMA Read Response First", kRc, read_response, first, kAeth, exactly_mtu,
     false},
    {Op::rc_read_response_middle, "RC RDMA Read Response Middle", kRc, read_response, middle, 0, exactly_mtu,
     false},
    {Op::rc_read_response_last, "RC RDMA Read Response Last", kRc, read_response, last, kAeth, one_to_mtu,
     false},
    {Op::rc_read_response_only, "RC RDMA Read Response Only", kRc, read_response, only, kAeth, zero_to_mtu,
     false},
    {Op::rc_acknowledge, "RC Acknowledge", kRc, acknowledge, only, kAeth, none, false},
    {Op::rc_atomic_acknowledge, "RC Atomic Acknowledge", kRc, atomic_acknowledge, only, kAeth | kAtomicAckEth,
     none, false},
    {Op::rc_compare_swap, "RC Compare Swap", kRc, compare_swap, only, kAtomicEth, none, true},
    {Op::rc_fetch_add, "RC Fetch Add", kRc, fetch_add, only, kAtomicEth, none, true},
    {Op::rc_send_last_inv, "RC Send Last Invalidate", kRc, send, last, kIeth, one_to_mtu, true},
    {Op::rc_send_only_inv, "RC Send Only Invalidate", kRc, send, only, kIeth, zero_to_mtu, true},
    {Op::rc_flush, "RC Flush", kRc, flush, only, kFeth | kReth, none, true},
    {Op::rc_atomic_write, "RC Atomic Write", kRc, atomic_write, only, kReth, fixed_8, true},
    {Op::uc_send_first, "UC Send First", kUc, send, first, 0, exactly_mtu, true},
    {Op::uc_send_middle, "UC Send Middle", kUc, send, middle, 0, exactly_mtu, true},
    {Op::uc_send_last, "UC Send Last", kUc, send, last, 0, one_to_mtu, true},
    {Op::uc_send_last_imm, "UC Send Last Immediate", kUc, send, last, kImmDt, one_to_mtu, true},
    {Op::uc_send_only, "UC Send Only", kUc, send, only, 0, zero_to_mtu, true},
    {Op::uc_send_only_imm, "UC Send Only Immediate", kUc, send, only, kImmDt, zero_to_mtu, true},
    {Op::uc_write_first, "UC RDMA Write First", kUc, write, first, kReth, exactly_mtu, true},
    {Op::uc_write_middle, "UC RDMA Write Middle", kUc, write, middle, 0, exactly_mtu, true},
    {Op::uc_write_last, "UC RDMA Write Last", kUc, write, last, 0, one_to_mtu, true},
    {Op::uc_write_last_imm, "UC RDMA Write Last Immediate", kUc, write, last, kImmDt, one_to_mtu, true},
    {Op::uc_write_only, "UC RDMA Write Only", kUc, write, only, kReth, zero_to_mtu, true},
    {Op::uc_write_only_imm, "UC RDMA Write Only Immediate", kUc, write, only, kReth | kImmDt, zero_to_mtu,
     true},
    {Op::ud_send_only, "UD Send Only", kUd, send, only, kDeth, zero_to_mtu, true},
    {Op::ud_send_only_imm, "UD Send Only Immediate", kUd, send, only, kDeth | kImmDt, zero_to_mtu, true},
    {Op::cnp, "CNP", Service::cnp, Operation::cnp, only, 0, fixed_16, false},
    // Every request names the SRQ that it is for, no answer does (IBTA A14.3).
    {Op::xrc_send_first, "XRC Send First", kXrc, send, first, kXrceth, exactly_mtu, true},
    {Op::xrc_send_middle, "XRC Send Middle", kXrc, send, middle, kXrceth, exactly_mtu, true},
    {Op::xrc_send_last, "XRC Send Last", kXrc, send, last, kXrceth, one_to_mtu, true},
    {Op::xrc_send_last_imm, "XRC Send Last Immediate", kXrc, send, last, kXrceth | kImmDt, one_to_mtu, true},
    {Op::xrc_send_only, "XRC Send Only", kXrc, send, only, kXrceth, zero_to_mtu, true},
    {Op::xrc_send_only_imm, "XRC Send Only Immediate", kXrc, send, only, kXrceth | kImmDt, zero_to_mtu, true},
    {Op::xrc_write_first, "XRC RDMA Write First", kXrc, write, first, kXrceth | kReth, exactly_mtu, true},
    {Op::xrc_write_middle, "XRC RDMA Write Middle", kXrc, write, middle, kXrceth, exactly_mtu, true},
    {Op::xrc_write_last, "XRC RDMA Write Last", kXrc, write, last, kXrceth, one_to_mtu, true},
    {Op::xrc_write_last_imm, "XRC RDMA Write Last Immediate", kXrc, write, last, kXrceth | kImmDt, one_to_mtu,
     true},
    {Op::xrc_write_only, "XRC RDMA Write Only", kXrc, write, only, kXrceth | kReth, zero_to_mtu, true},
    {Op::xrc_write_only_imm, "XRC RDMA Write Only Immediate", kXrc, write, only, kXrceth | kReth | kImmDt,
     zero_to_mtu, true},
    {Op::xrc_read_request, "XRC RDMA Read Request", kXrc, read_request, only, kXrceth | kReth, none, true},
    {Op::xrc_read_response_first, "XRC RDMA Read Response First", kXrc, read_response, first, kAeth,
     exactly_mtu, false},
    {Op::xrc_read_response_middle, "XRC RDMA Read Response Middle", kXrc, read_response, middle, 0,
     exactly_mtu, false},
    {Op::xrc_read_response_last, "XRC RDMA Read Response Last", kXrc, read_response, last, kAeth, one_to_mtu,
     false},
    {Op::xrc_read_response_only, "XRC RDMA Read Response Only", kXrc, read_response, only, kAeth, zero_to_mtu,
     false},
    {Op::xrc_acknowledge, "XRC Acknowledge", kXrc, acknowledge, only, kAeth, none, false},
    {Op::xrc_atomic_acknowledge, "XRC Atomic Acknowledge", kXrc, atomic_acknowledge, only,
     kAeth | kAtomicAckEth, none, false},
    {Op::xrc_compare_swap, "XRC Compare Swap", kXrc, compare_swap, only, kXrceth | kAtomicEth, none, true},
    {Op::xrc_fetch_add, "XRC Fetch Add", kXrc, fetch_add, only, kXrceth | kAtomicEth, none, true},
    {Op::xrc_send_last_inv, "XRC Send Last Invalidate", kXrc, send, last, kXrceth | kIeth, one_to_mtu, true},
    {Op::xrc_send_only_inv, "XRC Send Only Invalidate", kXrc, send, only, kXrceth | kIeth, zero_to_mtu, true},
};
constexpr OpcodeInfo kUndefined = {Op{0xff}, "undefined opcode", Service{0xe0}, Operation::cnp, only, 0, none,
                                   false};

constexpr std::uint8_t kNoRow = 0xff;

constexpr std::array<std::uint8_t, 256> make_index() {
  std::array<std::uint8_t, 256> index{};
  index.fill(kNoRow);
  std::uint8_t row = 0;
  for (const OpcodeInfo& info : kOpcodes) index[static_cast<std::uint8_t>(info.opcode)] = row++;
  return index;
}
constexpr auto kIndex = make_index();

constexpr std::array<std::uint8_t, 9> kBitBytes = {8, 4, 4, 16, 28, 4, 8, 4, 4};  // in the order of HeaderBit

constexpr std::size_t sum_of_bits(std::uint16_t headers) {
  std::size_t bytes = 0;
  for (std::size_t bit = 0; bit < kBitBytes.size(); ++bit) {
    if ((headers >> bit & 1) != 0) bytes += kBitBytes[bit];
  }
  return bytes;
}

constexpr std::array<std::uint8_t, 1U << kBitBytes.size()> make_sums() {
  std::array<std::uint8_t, 1U << kBitBytes.size()> sums{};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = static_cast<std::uint8_t>(sum_of_bits(static_cast<std::uint16_t>(i)));
  }
  return sums;
}
constexpr auto kSums = make_sums();

constexpr std::uint16_t kAtEnd = kImmDt | kIeth;  // headers that only the end of a message has

// The row of an operation's packet at `position`. `at_end`: those of kAtEnd that it has.
constexpr const OpcodeInfo* find_row(const OpcodeInfo& like, Position position, std::uint16_t at_end) {
  for (const OpcodeInfo& info : kOpcodes) {
    if (info.service == like.service && info.operation == like.operation && info.position == position &&
        (info.headers & kAtEnd) == at_end)
      return &info;
  }
  return &like;
}

constexpr OpcodeParts parts_of_row(const OpcodeInfo& whole) {
  const Opcode middle = find_row(whole, Position::middle, 0)->opcode;
  const auto at_end = static_cast<std::uint16_t>(whole.headers & kAtEnd);
  return {whole.starts() ? find_row(whole, Position::first, 0)->opcode : middle, middle,
          whole.ends() ? find_row(whole, Position::last, at_end)->opcode : middle};
}

constexpr std::array<OpcodeParts, std::size(kOpcodes)> make_parts() {
  std::array<OpcodeParts, std::size(kOpcodes)> parts{};
  for (std::size_t row = 0; row < parts.size(); ++row) parts[row] = parts_of_row(kOpcodes[row]);
  return parts;
}
constexpr auto kParts = make_parts();

}  // namespace

const OpcodeParts& parts_of(Opcode whole) { return kParts[kIndex[static_cast<std::uint8_t>(whole)]]; }

bool joinable(const OpcodeInfo& info) {
  return opcode_info(parts_of(info.opcode).middle).position == Position::middle;
}

const OpcodeInfo& joined(const OpcodeInfo& first, const OpcodeInfo& last) {
  if (!first.starts()) return last;
  if (!last.ends()) return first;
  return *find_row(first, Position::only, static_cast<std::uint16_t>(last.headers & kAtEnd));
}

const OpcodeInfo* find_opcode(std::uint8_t raw) {
  const std::uint8_t row = kIndex[raw];
  return row == kNoRow ? nullptr : &kOpcodes[row];
}

const OpcodeInfo& opcode_info(Opcode opcode) {
  const OpcodeInfo* info = find_opcode(static_cast<std::uint8_t>(opcode));
  return info != nullptr ? *info : kUndefined;
}

std::span<const OpcodeInfo> all_opcodes() { return kOpcodes; }

std::size_t header_bytes(std::uint16_t headers) { return kSums[headers & (kSums.size() - 1)]; }

}  // namespace softrnic::wire
