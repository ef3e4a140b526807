// What the verifier sends: batches of operations that both sides derive from one seed, and the bytes they
// carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace interop {

enum class Kind : std::uint8_t {
  send,
  send_imm,
  write,
  write_imm,
  read,
  compare_swap,
  fetch_add,
  atomic_write
};

/// Agreed between the two sides before they begin; the client's choice counts.
struct Settings {
  std::uint64_t seed = 1;
  std::uint32_t messages = 300;  ///< of each transport and direction
  std::uint32_t mtu = 1024;      ///< bytes: 256 … 4096
  std::uint32_t max_size = 1 << 20;
  std::uint8_t ack_timeout = 14;  ///< of RC, as in ibv_qp_attr: 4.096 µs · 2^n
  bool lossy = false;             ///< of the transport: UC and UD lose what the wire loses
  bool datagrams = false;         ///< UD: sends of at most one MTU only
};

struct Operation {
  Kind kind = Kind::send;
  std::uint32_t number = 0;  ///< counts all operations of a run
  std::uint32_t size = 0;    ///< bytes
  std::uint32_t pieces = 1;  ///< scatter/gather elements
  std::uint32_t slack = 0;   ///< bytes by which the receive is longer than the message
  bool inlined = false;
  std::size_t offset = 0;  ///< of its slot in the memory of either side

  bool takes_receive() const {
    return kind == Kind::send || kind == Kind::send_imm || kind == Kind::write_imm;
  }
  bool is_atomic() const { return kind == Kind::compare_swap || kind == Kind::fetch_add; }
  /// Of eight aligned bytes.
  bool is_word() const { return is_atomic() || kind == Kind::atomic_write; }
  bool is_write() const {
    return kind == Kind::write || kind == Kind::write_imm || kind == Kind::atomic_write;
  }
};

inline constexpr std::size_t kBatch = 16;   ///< most operations of a batch
inline constexpr std::size_t kGuard = 64;   ///< bytes around every slot that nobody may touch
inline constexpr std::size_t kInline = 64;  ///< longest inline message
inline constexpr std::byte kUntouched{0xa5};

/// Batch number `batch`; the same for both sides. On a lossy transport it ends with a
/// SEND_WITH_IMM: when that arrives, nothing of the batch is under way any more. Slots do not
/// overlap and fit into slot_memory(settings).
std::vector<Operation> make_batch(const Settings& settings, std::uint32_t batch);
std::size_t slot_memory(const Settings& settings);

/// The bytes of message `number`.
void fill(std::span<std::byte> memory, std::uint64_t number);
bool matches(std::span<const std::byte> memory, std::uint64_t number);
/// Every byte is the message's or still untouched: what UC leaves of a WRITE that lost packets.
bool partly_matches(std::span<const std::byte> memory, std::uint64_t number);
bool untouched(std::span<const std::byte> memory);

/// Atomics: what the target word holds before, and the operands.
std::uint64_t atomic_start(const Operation& operation);
std::uint64_t atomic_compare(const Operation& operation);  ///< equals the start for every second operation
std::uint64_t atomic_operand(const Operation& operation);
std::uint64_t atomic_result(const Operation& operation);  ///< what the target word holds afterwards

}  // namespace interop
