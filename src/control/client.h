// A process's connection to softrnicd.
//
// Thread-safe: requests of several threads take turns. Every call answers within kAnswerTimeout or fails, and
// no call throws, raises SIGPIPE or starts a thread. All descriptors are close-on-exec. After fork the
// child's calls fail with ReasonId::forked_child and send nothing; it makes a connection of its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "control/error.h"
#include "control/messages.h"
#include "device/device_info.h"

namespace softrnic::control {

/// How long a request, or the start of a daemon, may take. Far above what they need: kernels may leave a new
/// process waiting for seconds beside programs that poll.
inline constexpr std::chrono::seconds kAnswerTimeout{30};

/// What the daemon gives who asks for a lane.
struct LaneGrant {
  /// UDP, non-blocking, bound to port 4791; shared with the daemon, so never shut it down. On an emulated
  /// host one of FabricMessages (link/fabric_message.h)
  UniqueFd socket;
  std::uint8_t number = 0;
  std::uint16_t first_index = 0;  ///< begin to hand out QP indices here; wraps at 65535
  bool dual_stack = true;         ///< false: AF_INET, the host has no IPv6
  bool fabric = false;            ///< of an emulated host
};

struct PageFd {
  UniqueFd fd;  ///< read-only, for PageReader::open()
  std::int32_t pid = 0;
  std::string comm;
  std::uint64_t ended_ns = 0;  ///< CLOCK_REALTIME when the process went, 0: it lives
};

struct Notification {
  Change change{};
  device::DeviceInfo device;  ///< device_removed: as it last was
};

struct CmIdListing;

/// The daemon of this user, or that of all users of the host (softrnicd --system), or a fabric's for the
/// emulated host that this process is on (SOFTRNIC_HOST), which no process starts.
enum class DaemonKind { any, of_user, of_all, of_emulated_host };

struct ConnectOptions {
  std::string daemon_path;  ///< empty: SOFTRNIC_DAEMON, else found beside the library or program
  bool spawn = true;        ///< start a daemon when none listens
  std::chrono::seconds patience = kAnswerTimeout;  ///< with its first answer
  /// any: the emulated host's where the process is on one, else that of all users where there is one
  DaemonKind kind = DaemonKind::any;
};

/// What a process shares with its local peers: see MemoryPart. Both or none.
struct SharedParts {
  UniqueFd own, inbox;
};

class Client {
 public:
  /// Connects to the daemon of this network namespace: of all users, else of this user, starting that when
  /// there is none.
  static Expected<std::unique_ptr<Client>, Error> connect(const ConnectOptions& options = {});
  ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Expected<std::vector<device::DeviceInfo>, Error> devices();
  /// Keeps soft0 on its netdev as long as this connection lives: for a process that opens a device.
  Expected<void, Error> hold_devices();
  Expected<LaneGrant, Error> take_lane();
  Expected<void, Error> give_back_lane(std::uint8_t lane);
  /// A lane that this process was given by a daemon that has died since: `socket`, its socket, proves that.
  Expected<void, Error> reclaim_lane(std::uint8_t lane, int socket);
  /// After reclaim_lane(): nothing more is to come. Until then the daemon does not read
  /// what peers ask of listeners.
  Expected<void, Error> settled();
  /// Tells other processes where to take what this one shares. Returns the locks for atomic operations, see
  /// atomic_locks.h; no fd: there are none.
  Expected<UniqueFd, Error> share_memory(ShareMemory request);
  /// Where what the holder of a lane shares is to be had. Refused when it lives where this process may not
  /// attach to it.
  Expected<LocalPeerReply, Error> find_local_peer(std::uint8_t lane);
  /// Shows this process's control page (a memfd sealed against shrinking; stays the caller's). Once a
  /// connection.
  Expected<void, Error> register_page(int memfd);
  Expected<void, Error> add_link(const device::NewDevice& device);
  Expected<void, Error> delete_link(const std::string& name);
  /// The pages of all processes, live ones and those that died lately, in the order of their registration.
  Expected<std::vector<PageFd>, Error> pages();
  /// The communication ids of all processes, in the order of their making.
  Expected<std::vector<CmIdListing>, Error> cm_ids();
  /// See CmStreamsEnded; `tokens`: at most CmStreamsEnded::kMost. The next daemon knows none of a dead one's.
  Expected<void, Error> streams_ended(std::span<const std::uint64_t> tokens);
  Expected<StatusReply, Error> status();
  /// Ends the daemon and waits until it is gone.
  Expected<void, Error> shutdown();

  /// Readable when read_notification() has something, the daemon's end included. For epoll; owned by this
  /// object.
  int notification_fd() const { return notifications_.get(); }
  /// The next notification, without waiting; nothing when there is none. Fails with daemon_gone when the
  /// daemon ended. May be called while other threads have requests under way.
  Expected<std::optional<Notification>, Error> read_notification();

  /// Known once read_notification() has failed: the daemon was told to end, or had nothing more
  /// to do. Else it has died.
  bool took_leave() const { return took_leave_.load(std::memory_order_acquire); }

  pid_t daemon_pid() const { return daemon_pid_; }
  DaemonKind kind() const { return kind_; }

  /// One request and its answer, for the messages that have a file of their own (cm_client.h): `request`
  /// comes from make_message(), and anything but a Reply is an error. `fd` travels along unless it is
  /// -1, and stays the caller's.
  template <typename Reply, typename Request>
  Expected<Reply, Error> ask_for(Request request, int fd = -1, UniqueFd* reply_fd = nullptr) {
    auto answer = ask(request.header, bytes_of(request), fd);
    if (!answer) return Unexpected{answer.error()};
    const auto reply = parse_message<Reply>(answer->bytes);
    if (!reply) return Unexpected{bad_reply()};
    if (reply_fd != nullptr) *reply_fd = std::move(answer->fd);
    return *reply;
  }

 private:
  struct Answer {
    std::vector<std::byte> bytes;
    UniqueFd fd;
  };
  Client(UniqueFd socket, pid_t owner, DaemonKind kind)
      : socket_(std::move(socket)), owner_(owner), kind_(kind) {}
  static Expected<std::unique_ptr<Client>, Error> connect_to(UniqueFd socket, DaemonKind kind);
  static Expected<std::unique_ptr<Client>, Error> connect_of_all(std::chrono::seconds patience);
  static Expected<std::unique_ptr<Client>, Error> connect_of_user(const ConnectOptions& options);
  static Expected<std::unique_ptr<Client>, Error> connect_of_emulated_host();
  /// What a daemon that may not look at this process is to know of it.
  void show_namespaces();
  Expected<void, Error> greet();
  /// `header` is the head of `request`, and gets its serial.
  Expected<Answer, Error> ask(Header& header, Bytes request, int fd);
  static Error bad_reply();

  std::mutex mutex_;
  UniqueFd socket_;  ///< reset after a broken exchange
  UniqueFd notifications_;
  pid_t owner_;
  const DaemonKind kind_;
  pid_t daemon_pid_ = 0;
  std::uint32_t serial_ = 0;
  std::atomic<bool> took_leave_{false};
};

/// The daemon cannot be reached or started because of `error`. A process that lacks descriptors, threads or
/// memory is told that, not to look at the daemon.
Failure no_daemon(int error);

}  // namespace softrnic::control
