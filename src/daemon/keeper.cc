#include "daemon/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/lane_limits.h"
#include "base/reason_id.h"
#include "control/background.h"
#include "control/channel.h"
#include "control/client.h"
#include "control/local_name.h"
#include "control/messages.h"
#include "daemon/credentials.h"

namespace softrnic::daemon {
namespace {

constexpr const char* kSuffix = "/keeper";
constexpr int kAttempts = 8;  ///< a keeper may be ending while we reach for it
constexpr std::chrono::seconds kDaemonPatience{5};

struct Note {
  Keeper::Op op{};
  std::uint32_t lane = 0;
  std::uint32_t place = kNoPlace;
};

int send_note(int socket, Note note, int fd = -1, int flags = 0) {
  return control::send_datagram(socket, control::bytes_of(note), fd, flags);
}

/// False when the other end is gone or talks nonsense.
bool receive_note(int socket, Note& note, UniqueFd& fd, int flags = 0) {
  control::Datagram datagram;
  const int error =
      control::receive_datagram(socket, std::as_writable_bytes(std::span(&note, 1)), datagram, flags);
  if (error != 0 || datagram.size != sizeof note) return false;
  fd = std::move(datagram.fds[0]);
  return true;
}

// ---- inside the keeper

class KeeperProcess {
 public:
  KeeperProcess(int daemon, int listener) : daemon_(daemon), listener_(listener) {}

  void run() {
    while (step()) {
    }
    leave();
  }

 private:
  bool step() {
    std::vector<pollfd> waiting;
    waiting.push_back({daemon_, POLLIN, 0});  // poll() passes over negative descriptors
    waiting.push_back({listener_, POLLIN, 0});
    bool held = daemon_ >= 0;
    if (daemon_ < 0) {
      for (const KeptLane& lane : lanes_) {
        if (!lane.holder) continue;
        held = true;
        waiting.push_back({lane.holder.get(), POLLIN, 0});
      }
    }
    if (!held) return false;
    if (poll(waiting.data(), waiting.size(), -1) < 0) return errno == EINTR;
    if (waiting[0].revents != 0 || waiting[1].revents != 0) hear_all();  // an heir gets the latest
    if (daemon_ < 0 && !knows_all_) return false;  // half of the lanes are none: the programs have all
    if (waiting[1].revents != 0) hand_over();
    if (daemon_ < 0) forget_dead();
    return true;
  }

  void hear_all() {
    pollfd word{daemon_, POLLIN, 0};
    while (daemon_ >= 0 && poll(&word, 1, 0) > 0) {
      if (hear_daemon()) continue;
      close(daemon_);
      daemon_ = -1;
    }
  }

  /// One note; false at the end of the daemon.
  bool hear_daemon() {
    Note note;
    UniqueFd fd;
    if (!receive_note(daemon_, note, fd)) return false;
    if (note.op == Keeper::Op::end) {
      knows_all_ = true;
    } else if (note.op == Keeper::Op::made && note.lane == kNoLane) {
      retired_.push_back({kNoLane, note.place, std::move(fd), {}});
    } else if (note.op == Keeper::Op::made && note.lane < kLaneNumbers) {
      if (note.lane >= lanes_.size()) lanes_.resize(note.lane + 1);
      lanes_[note.lane] = {note.lane, note.place, std::move(fd), {}};
    } else if (note.lane < lanes_.size()) {
      lanes_[note.lane].holder = note.op == Keeper::Op::taken ? std::move(fd) : UniqueFd();
    }
    return true;
  }

  /// Gives everything to a new daemon, which is this keeper's daemon from then on.
  void hand_over() {
    UniqueFd heir(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    if (!heir) return;
    const auto peer = control::peer_credentials(heir.get());
    Note note;
    UniqueFd none;
    if (!peer || peer->uid != geteuid() || !may_inherit(heir.get(), peer->pid)) return;
    if (!receive_note(heir.get(), note, none)) return;
    if (daemon_ >= 0) close(daemon_);
    daemon_ = heir.release();
    forget_dead();
    if (tell_all(daemon_)) return;
    close(daemon_);
    daemon_ = -1;
  }

  /// The sockets hold what is on its way to the lanes.
  static bool may_inherit(int heir, pid_t pid) {
    return Credentials::of(geteuid(), pid, peer_process(heir, pid)).may_attach_to(Credentials::own());
  }

  bool tell_all(int heir) const {
    for (const KeptLane& lane : retired_)
      if (send_note(heir, {Keeper::Op::made, kNoLane, lane.place}, lane.socket.get()) != 0) return false;
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      const KeptLane& lane = lanes_[i];
      if (!lane.socket) continue;
      if (send_note(heir, {Keeper::Op::made, i, lane.place}, lane.socket.get()) != 0) return false;
      if (lane.holder && send_note(heir, {Keeper::Op::taken, i}, lane.holder.get()) != 0) return false;
    }
    return send_note(heir, {Keeper::Op::end, 0}) == 0;
  }

  /// The port is free before the name is: who does not find the name may take the port.
  void leave() {
    lanes_.clear();
    retired_.clear();
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
  }

  void forget_dead() {
    for (KeptLane& lane : lanes_) {
      pollfd state{lane.holder.get(), POLLIN, 0};
      if (lane.holder && poll(&state, 1, 0) > 0) lane.holder.reset();
    }
  }

  int daemon_;
  int listener_;
  bool knows_all_ = false;  ///< that there was when it began
  std::vector<KeptLane> lanes_;
  std::vector<KeptLane> retired_;
};

/// Keeps only what the keeper needs: it must not hold the starter's pipe, a terminal or the daemon's sockets.
[[noreturn]] void become_keeper(int channel, int listener) {
  prctl(PR_SET_NAME, "softrnicd-keep");
  control::leave_terminal();
  // Who ends all programs of a session or a name ends the daemon and the holders of lanes, and then the
  // keeper ends by itself. Ended before them, it would misdirect their packets.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int kept_channel = fcntl(channel, F_DUPFD_CLOEXEC, 10);
  const int kept_listener = fcntl(listener, F_DUPFD_CLOEXEC, kept_channel + 1);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  for (int fd = 3; fd < kept_listener; ++fd)
    if (fd != kept_channel) close(fd);
  syscall(SYS_close_range, kept_listener + 1, ~0U, 0);
  send_note(kept_channel, {Keeper::Op::ready});
  KeeperProcess(kept_channel, kept_listener).run();
  _exit(0);
}

}  // namespace

Expected<Keeper, Failure> Keeper::start() {
  const auto listener = control::listen_as(control::daemon_name(geteuid(), kSuffix), 8);
  if (!listener) return Unexpected{listener.error()};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Unexpected{control::no_daemon(errno)};
  Keeper keeper;
  keeper.channel_.reset(ends[0]);
  UniqueFd other(ends[1]);
  const pid_t child = fork();
  if (child < 0) return Unexpected{control::no_daemon(errno)};
  if (child == 0) become_keeper(other.get(), listener->get());
  other.reset();
  Note note;
  UniqueFd none;
  receive_note(keeper.channel_.get(), note,
               none);  // nothing comes from one that has died: it is missed later
  return keeper;
}

Expected<Keeper, Failure> Keeper::inherit(std::vector<KeptLane>& lanes) {
  const control::AbstractName name = control::daemon_name(geteuid(), kSuffix);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto reached = control::reach_own(name, kDaemonPatience);
    if (!reached) return Unexpected{reached.error()};
    Keeper keeper;
    keeper.channel_ = std::move(*reached);
    const int channel = keeper.channel_.get();
    lanes.clear();
    Note note;
    UniqueFd fd;
    send_note(channel, {Op::take_over, 0});
    while (receive_note(channel, note, fd)) {
      if (note.op == Op::made) lanes.push_back({note.lane, note.place, std::move(fd), {}});
      if (note.op == Op::taken && !lanes.empty() && lanes.back().lane == note.lane)
        lanes.back().holder = std::move(fd);
      if (note.op == Op::end) return keeper;
    }
  }
  return Unexpected{refuse(EBUSY, ReasonId::daemon_unreachable, EBUSY)};
}

void Keeper::tell(Op op, std::uint32_t lane, std::uint32_t place, int fd) {
  // a keeper that is gone is only missed when this daemon dies too
  send_note(channel_.get(), {op, lane, place}, fd);
}

}  // namespace softrnic::daemon
