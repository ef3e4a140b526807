// Mutexes that the forking thread takes around a fork, so that the child, in which it alone lives on, finds
// none that is held by a thread it has not, and nothing half written behind one.
#pragma once

#include <cstdint>

namespace softrnic {

/// A member of an object, which tells of its mutex for as long as the object lives.
class HeldAcrossFork {
 public:
  /// Who holds several takes them in this order; nobody holds two of one rank.
  enum class Rank : std::uint8_t { context, xrc_domain, shared_receive_queue, completion_queue, events };

  template <typename Mutex>
  HeldAcrossFork(Mutex& mutex, Rank rank)
      : HeldAcrossFork(
            &mutex, [](void* held) { static_cast<Mutex*>(held)->lock(); },
            [](void* held) { static_cast<Mutex*>(held)->unlock(); }, rank) {}
  HeldAcrossFork(const HeldAcrossFork&) = delete;
  HeldAcrossFork& operator=(const HeldAcrossFork&) = delete;
  ~HeldAcrossFork();

  /// Before a fork, after every mutex that comes before these. Until unlock_all() none is made or destroyed.
  static void lock_all();
  /// After it, by the same thread, in the parent and in the child.
  static void unlock_all();

 private:
  using Call = void (*)(void*);

  HeldAcrossFork(void* mutex, Call lock, Call unlock, Rank rank);

  void* const mutex_;
  const Call lock_;
  const Call unlock_;
  HeldAcrossFork** before_;  ///< what points here: the list's start, or another one's next_
  HeldAcrossFork* next_;
};

}  // namespace softrnic
