// A work request as the model remembers it: everything that decides how it may end and what it may touch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "transport/ib/types.h"

namespace softrnic::sim {

/// A key that no region has.
inline constexpr MemoryKey kBadKey{0x0bad0bad};

constexpr std::uint32_t bit(ib::Status status) { return 1U << static_cast<unsigned>(status); }

constexpr bool is_send(ib::SendOp op) {
  return op == ib::SendOp::send || op == ib::SendOp::send_with_imm || op == ib::SendOp::send_with_invalidate;
}
constexpr bool is_write(ib::SendOp op) {
  return op == ib::SendOp::write || op == ib::SendOp::write_with_imm || op == ib::SendOp::atomic_write;
}
/// Of eight aligned bytes.
constexpr bool is_word(ib::SendOp op) { return is_atomic(op) || op == ib::SendOp::atomic_write; }
constexpr bool has_immediate(ib::SendOp op) {
  return op == ib::SendOp::send_with_imm || op == ib::SendOp::write_with_imm;
}

struct WorkRequest {
  std::uint64_t id = 0;
  ib::SendOp op{};
  bool signaled = true;
  bool solicited = false;
  bool fence = false;
  bool is_inline = false;
  std::uint32_t length = 0;
  std::uint32_t immediate = 0;  ///< or the key to invalidate
  MemoryKey rkey;
  std::uint64_t remote_address = 0;
  std::uint64_t offset = 0;   ///< of remote_address in the target region
  std::uint64_t compare = 0;  ///< flush: bytes from `offset`
  std::uint64_t swap_or_add = 0;
  std::vector<ib::Sge> sges;
  MemoryKey local;  ///< the region the SGEs lie in; 0: none
  Bytes image;      ///< what that region held when the work request was posted
  /// SEND and WRITE: the message. READ: what it reads if nothing later gets in. Atomics: the original value.
  std::vector<std::byte> payload;
  std::vector<std::byte> effect;                   ///< what it writes to the target at `offset`
  std::uint32_t legal = bit(ib::Status::success);  ///< how it may end when nothing else goes wrong
  bool executed = false;                           ///< bind_window, local_invalidate
  bool reaches_peer = true;                        ///< false: may not have any effect at the peer
  TimePoint posted{};
  std::uint32_t srqn = 0;      ///< XRC: the SRQ that it is for
  std::uint64_t losses = 0;    ///< of its node, when it was posted
  std::uint64_t timeouts = 0;  ///< likewise
  // UD
  std::uint32_t to_node = 0;
  std::uint32_t qkey = 0;
  std::uint32_t delivered = 0;
};

}  // namespace softrnic::sim
