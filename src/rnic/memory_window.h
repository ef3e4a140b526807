// A memory window: a part of a region that peers may reach by a key of its own, which the send queue gives
// and takes (IBTA 10.6.7).
//
//   type 1    bound by ibv_bind_mw, again and again; length 0 unbinds. All QPs of its protection domain.
//   type 2    bound once by a work request, then invalidated, by this side or by the peer. Only the QP that
//             bound it (type 2B: that, and the protection domain).
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"
#include "rnic/key_table.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

class ProtectionDomain;

class MemoryWindow {
 public:
  /// Not bound. EINVAL: type; ENOMEM.
  static Expected<std::unique_ptr<MemoryWindow>, Failure> create(ProtectionDomain& pd, ibv_mw_type type);

  /// Unbinds it, and waits until nobody uses what it allowed. Delete the object afterwards.
  Expected<void, Failure> destroy();

  /// The one it was made with: binds change it.
  MemoryKey first_key() const { return first_key_; }

 private:
  explicit MemoryWindow(ProtectionDomain& pd) : pd_(pd) {}

  ProtectionDomain& pd_;
  WindowEntry entry_;
  MemoryKey first_key_;
};

/// Whose send queue changes a window.
struct WindowUser {
  const ProtectionDomain* pd = nullptr;
  std::uint32_t queue_pair = 0;  ///< QueuePair::serial()
};

/// A bind.
struct WindowBind {
  MemoryKey key;              ///< from now on; its index names the window
  MemoryKey region;           ///< lkey
  std::uint64_t address = 0;  ///< of its first byte, as the region's keys name it
  std::uint64_t length = 0;   ///< 0: unbind (type 1)
  std::uint32_t access = 0;   ///< IBV_ACCESS_REMOTE_…, _ZERO_BASED

  /// As the send queue holds it, and back.
  void put(ib::SendWqe& wqe) const;
  static WindowBind of(const ib::SendWqe& wqe);
};

/// What a change of a window has taken away: the caller waits for who is using it before he tells.
enum class Taken : std::uint8_t { nothing, access };

Expected<Taken, Reason> bind_window(const WindowUser& user, const WindowBind& bind);
/// LOCAL_INV and SEND_WITH_INV.
Expected<Taken, Reason> invalidate_window(const WindowUser& user, MemoryKey key);

}  // namespace softrnic::rnic
