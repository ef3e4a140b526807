// What libibverbs.so.1 lends to the drop-in libraries beside it, which have a copy of the lower layers of
// their own and no threads: their explanations must end in the one page and the one stderr of the process,
// who waits for the daemon must hear of its end, and what takes long must not hold up the program.
//
// It is reached through an ibv_device, without an exported symbol: where a provider's device has the pointer
// that the provider compares with its own (see Device in abi/verbs/objects.h), ours points to a Sibling.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>

#include "base/reason.h"
#include "control/stream_grant.h"

namespace softrnic::abi {

struct Sibling {
  static constexpr std::uint64_t kMagic = 0x676e'696c'6269'7300;  ///< "\0sibling"
  static constexpr std::uint32_t kVersion = 7;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t reasons = 0;  ///< reason_count(): tables of different builds do not match
  ExplainSink explain = nullptr;
  /// The callback comes from a thread of the engine, while a device is open. It must not call verbs, nor wait
  /// for a lock that is held while they are called, and throws nothing.
  void (*on_daemon_end)(void (*callback)()) = nullptr;
  /// The same for a daemon that has died, once the next one knows the lanes.
  void (*on_daemon_return)(void (*callback)()) = nullptr;
  /// Calls body(argument), which throws nothing, in a thread of its own. 0, or the errno of what ran out.
  int (*run_aside)(const char* name, void (*body)(void*), void* argument) = nullptr;
  /// iWARP: the queue pair's connection has been set up: to RTS. 0 or errno; takes `fd` on success only.
  int (*start_stream)(ibv_qp* qp, int fd, const control::StreamGrant* grant) = nullptr;
  /// 0 where start_stream() would not refuse the queue pair, else its errno.
  int (*may_start_stream)(ibv_qp* qp) = nullptr;
  /// iWARP: ends the connection of the queue pair with that number, if it is that of this token: in good
  /// order, as rdma_disconnect does, or by the error state.
  void (*close_stream)(const ibv_context* context, std::uint32_t qpn, std::uint64_t token) = nullptr;
  void (*abort_stream)(const ibv_context* context, std::uint32_t qpn, std::uint64_t token) = nullptr;
  /// The queue pair with that number; nullptr: there is none. It stays only as long as the program keeps it.
  ibv_qp* (*find_qp)(const ibv_context* context, std::uint32_t qpn) = nullptr;
};

/// The sibling behind a device of ibv_get_device_list; nullptr when the device is another
/// library's or another build's.
inline const Sibling* sibling_of(const ibv_device* device) {
  const Sibling* sibling = nullptr;
  std::memcpy(&sibling, reinterpret_cast<const char*>(device) + sizeof(ibv_device), sizeof sibling);
  const bool ours = sibling != nullptr && sibling->magic == Sibling::kMagic &&
                    sibling->version == Sibling::kVersion && sibling->reasons == reason_count();
  return ours ? sibling : nullptr;
}

}  // namespace softrnic::abi
