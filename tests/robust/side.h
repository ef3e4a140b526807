// One side of a reliable connection in plain verbs, for programs that are no tests themselves: every call
// answers true or false, nothing is checked twice. After a false errno is that of the verb.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "patience.h"

namespace softrnic::robust {

/// What one side tells the other before they connect.
struct Card {
  std::uint32_t qpn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
  ibv_gid gid{};
};

class Side {
 public:
  static constexpr std::size_t kMessage = 4096;
  static constexpr unsigned kDepth = 16;
  static constexpr std::size_t kBytes = 2 * kDepth * kMessage;

  /// Buffers that outlive a side: kBytes.
  using Memory = std::shared_ptr<std::uint32_t>;
  /// Of the process alone, which peers reach by cross-memory attach, or of a sealed memfd, which they map.
  /// nullptr: there is none to be had, and open() fails.
  static Memory own_memory();
  static Memory shared_memory();

  /// With buffers inside of it.
  Side() : memory_(own_.data()) {}
  explicit Side(Memory memory) : outside_(std::move(memory)), memory_(outside_.get()) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() { close(); }

  bool open();
  /// Destroys everything; false when a verb refused to.
  bool close();
  Card card() const;
  /// INIT, RTR and RTS; posts so many receives. `timeout` is the code of ibv_modify_qp.
  bool connect(const Card& peer, std::uint8_t timeout = 14, unsigned receives = kDepth);
  /// Another code for the timeout, in SQD, which everything posted has to have left.
  bool change_timeout(std::uint8_t timeout);
  bool post_receive(unsigned slot);
  /// Sends message number `number`, whose bytes follow from it and `salt`.
  bool post_send(std::uint32_t number, std::uint32_t salt);
  /// Whether the receive in `slot` holds message `number` of `salt`.
  bool holds(unsigned slot, std::uint32_t number, std::uint32_t salt) const;
  /// The next completion; false after `seconds` without one.
  bool next(ibv_wc& wc, int seconds = kHangSeconds);

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_gid gid{};

 private:
  std::array<std::uint32_t, kBytes / sizeof(std::uint32_t)> own_{};
  Memory outside_;
  std::uint32_t* const memory_;  ///< kDepth receives, then kDepth sends
};

/// Both sides send `rounds` messages of kMessage bytes, a few at a time, and check what comes: 0, or 1
/// + the status of the completion that failed, or -1 for wrong bytes, silence or a refused post. `salt`
/// is what this side sends.
int exchange(Side& side, std::uint32_t rounds, std::uint32_t salt, std::uint32_t peer_salt);

/// Two sides of this process, opened and connected to each other.
struct Couple {
  Side a, b;

  /// errno is that of the verb that refused.
  bool open();
  bool close() {
    const bool first = a.close();
    return b.close() && first;
  }
  /// Message number `number` from a to b, for numbers from 0 on: the same answers as exchange().
  int talk(std::uint32_t number);
};

}  // namespace softrnic::robust
