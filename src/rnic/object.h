// What the objects of verbs have in common: an owner in the layer above, and users that keep them alive.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace softrnic::rnic {

/// How long destroy waits for acknowledgements before it explains why it waits.
inline constexpr std::chrono::milliseconds kPatienceWithAcks{500};

/// Counts the objects that use another one; destroying a used object is refused with EBUSY.
class UseCount {
 public:
  void add() { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() { users_.fetch_sub(1, std::memory_order_release); }
  std::uint32_t users() const { return users_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> users_{0};
};

/// Something that asynchronous events are about: a QP, CQ or SRQ.
class EventTarget {
 public:
  enum class Kind : std::uint8_t { queue_pair, completion_queue, shared_receive_queue };

  EventTarget(const EventTarget&) = delete;
  EventTarget& operator=(const EventTarget&) = delete;

  Kind kind() const { return kind_; }
  /// The QPN of a queue pair; 0 for the others.
  virtual std::uint32_t number() const { return 0; }

  /// For the layer above: its own object (struct ibv_qp and the like). Set before the object is used.
  void* owner = nullptr;

 protected:
  explicit EventTarget(Kind kind) : kind_(kind) {}
  virtual ~EventTarget() = default;

 private:
  friend class AsyncEventQueue;
  const Kind kind_;
  std::uint32_t fetched_ = 0;  ///< events handed to the program; guarded by the AsyncEventQueue's lock
  std::uint32_t acked_ = 0;
};

}  // namespace softrnic::rnic
