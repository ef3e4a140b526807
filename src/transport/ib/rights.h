// What a queue pair has to allow its peer for each operation (qp_access_flags): one table for all transports
// and all ways of a message. It is asked whatever the length; what the key of the memory allows is asked
// besides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/ib/types.h"

namespace softrnic::ib {

struct Needs {
  std::uint32_t access = 0;  ///< Access bits of the queue pair that is asked
  bool resources = false;    ///< one of its max_dest_rd_atomic
};

// By SendOp. What stands in no row takes a receive, or stays at home; the access of a FLUSH is in its packet
// (FlushSelector).
inline constexpr std::array<Needs, kSendOps> kNeeds = [] {
  std::array<Needs, kSendOps> needs{};
  const auto set = [&needs](SendOp op, Needs row) { needs[static_cast<std::size_t>(op)] = row; };
  set(SendOp::write, {kRemoteWrite, false});
  set(SendOp::write_with_imm, {kRemoteWrite, false});
  set(SendOp::read, {kRemoteRead, true});
  set(SendOp::compare_swap, {kRemoteAtomic, true});
  set(SendOp::fetch_add, {kRemoteAtomic, true});
  set(SendOp::flush, {0, true});
  set(SendOp::atomic_write, {kRemoteWrite, true});  // IBTA A19.4.2
  return needs;
}();

constexpr Needs needs_of(SendOp op) { return kNeeds[static_cast<std::size_t>(op)]; }

}  // namespace softrnic::ib
