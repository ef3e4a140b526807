#include "control/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/reason_id.h"
#include "base/settings.h"
#include "base/unique_file.h"
#include "control/channel.h"
#include "control/cm_messages.h"
#include "control/fabric_folder.h"
#include "control/local_name.h"
#include "control/path_socket.h"
#include "control/spawn.h"
#include "control/system_daemon.h"

namespace softrnic::control {
namespace {

/// A daemon may end between our connect and our hello, or after its start.
constexpr int kConnectAttempts = 8;

Error broken(int error) {
  if (error == 0 || error == EPIPE || error == ECONNRESET || error == ENOTCONN)
    return make_error(refuse(EIO, ReasonId::daemon_gone));
  if (error == EAGAIN) error = ETIMEDOUT;  // SO_RCVTIMEO
  return make_error(no_daemon(error));
}

bool ended(const Error& error) { return error.failure.reason.id == ReasonId::daemon_gone; }

std::string own_comm() {
  std::array<char, kCommSize + 1> text{};
  if (const UniqueFile file{std::fopen("/proc/self/comm", "re")}) {
    if (std::fgets(text.data(), static_cast<int>(text.size()), file.get()) == nullptr) text[0] = 0;
  }
  std::string comm = text.data();
  while (!comm.empty() && comm.back() == '\n') comm.pop_back();
  return comm;
}

}  // namespace

Failure no_daemon(int error) {
  struct Shortage {
    int error;
    ReasonId reason;
  };
  static constexpr Shortage kShortages[] = {{EMFILE, ReasonId::out_of_fds},
                                            {ENFILE, ReasonId::out_of_fds},
                                            {EAGAIN, ReasonId::out_of_threads},
                                            {ENOMEM, ReasonId::out_of_threads}};
  for (const Shortage& shortage : kShortages)
    if (shortage.error == error) return refuse(error, shortage.reason, error);
  return refuse(error, ReasonId::daemon_unreachable, error);
}

Error Client::bad_reply() { return make_error(refuse(EPROTO, ReasonId::daemon_unreachable, EPROTO)); }

Expected<std::unique_ptr<Client>, Error> Client::connect(const ConnectOptions& options) {
  const bool is_emulated = !settings().host.empty() && options.kind == DaemonKind::any;
  if (is_emulated || options.kind == DaemonKind::of_emulated_host) return connect_of_emulated_host();
  if (options.kind == DaemonKind::of_user) return connect_of_user(options);
  auto client = connect_of_all(options.patience);
  if (client || options.kind == DaemonKind::of_all) return client;
  const Failure& failure = client.error().failure;
  const bool untrusted = failure.error == EACCES;
  if (untrusted) explain({.reason = failure.reason});
  if (!untrusted && failure.error != ECONNREFUSED && !ended(client.error())) return client;
  auto own = connect_of_user(options);
  // Who is not believed has the port, perhaps with right.
  return !own && untrusted && own.error().failure.error == EADDRINUSE ? std::move(client) : std::move(own);
}

Expected<std::unique_ptr<Client>, Error> Client::connect_to(UniqueFd socket, DaemonKind kind) {
  std::unique_ptr<Client> client(new Client(std::move(socket), getpid(), kind));
  if (const auto greeted = client->greet(); !greeted) return Unexpected{greeted.error()};
  set_patience(client->socket_.get(), kAnswerTimeout);
  return client;
}

Expected<std::unique_ptr<Client>, Error> Client::connect_of_emulated_host() {
  const auto name = parse_host_name(settings().host);
  if (!name) return Unexpected{make_error(name.error())};
  const auto folder = fabrics_folder(false);
  if (!folder) return Unexpected{make_error(folder.error())};
  auto socket = reach_path(host_socket(*folder, *name));
  if (!socket) return Unexpected{make_error(socket.error())};
  return connect_to(std::move(*socket), DaemonKind::of_emulated_host);
}

// It may be starting anew; who waits for the next one of systemd's waits in its socket's queue.
Expected<std::unique_ptr<Client>, Error> Client::connect_of_all(std::chrono::seconds patience) {
  Error last = broken(ECONNREFUSED);
  for (int attempt = 0; attempt < kConnectAttempts; ++attempt) {
    auto socket = reach_system_daemon(patience);
    if (!socket) return Unexpected{make_error(socket.error())};
    auto client = connect_to(std::move(*socket), DaemonKind::of_all);
    if (client) (*client)->show_namespaces();
    if (client || !ended(client.error())) return client;
    last = client.error();
  }
  return Unexpected{std::move(last)};
}

Expected<std::unique_ptr<Client>, Error> Client::connect_of_user(const ConnectOptions& options) {
  Error last = broken(ECONNREFUSED);
  for (int attempt = 0; attempt < kConnectAttempts; ++attempt) {
    auto socket = reach_own(daemon_name(geteuid()), options.patience);
    if (socket) {
      auto client = connect_to(std::move(*socket), DaemonKind::of_user);
      if (client || !ended(client.error())) return client;
      last = client.error();
      continue;
    }
    last = make_error(socket.error());
    if (socket.error().error != ECONNREFUSED || !options.spawn) return Unexpected{std::move(last)};
    const auto started = start_daemon(daemon_command(options.daemon_path));
    if (!started) return Unexpected{started.error()};
    if (auto client = connect_of_all(options.patience)) return client;  // one of all users was faster
  }
  return Unexpected{std::move(last)};
}

// Who may not be looked at shows nothing either.
void Client::show_namespaces() {
  if (prctl(PR_GET_DUMPABLE) != 1) return;
  for (const char* path : {"/proc/self/ns/user", "/proc/self/ns/pid"}) {
    const UniqueFd file(above_stdio(open(path, O_RDONLY | O_CLOEXEC)));
    if (file) static_cast<void>(ask_for<Done>(make_message<ShowNamespace>(), file.get()));
  }
}

namespace {

/// Whether it answers a request before the one of this serial, for which nobody waited long enough.
bool is_late(const Datagram& datagram, Bytes answer, std::uint32_t serial) {
  const auto head = peek_header(answer.first(std::min(datagram.size, answer.size())));
  return head && static_cast<std::int32_t>(head->serial - serial) < 0 && head->serial != 0;
}

int receive_answer(int socket, std::uint32_t serial, MutableBytes answer, Datagram& out) {
  int error = 0;
  do {
    out = {};
    error = receive_datagram(socket, answer, out);
  } while (error == 0 && is_late(out, answer, serial));
  return error;
}

/// A daemon that has no room answers before it is asked, and closes: its last word is there all
/// the same. 0 or an errno.
int exchange(int socket, Bytes request, std::uint32_t serial, int fd, MutableBytes answer, Datagram& out) {
  const int error = send_datagram(socket, request, fd);
  if (error != 0 && error != EPIPE && error != ECONNRESET) return error;
  const int received = receive_answer(socket, serial, answer, out);
  // of a request that was not read the kernel tells first, and once
  return received == ECONNRESET ? receive_answer(socket, serial, answer, out) : received;
}

}  // namespace

Expected<Client::Answer, Error> Client::ask(Header& header, Bytes request, int fd) {
  if (getpid() != owner_) return Unexpected{make_error(refuse(EPERM, ReasonId::forked_child))};
  const std::lock_guard guard(mutex_);
  if (!socket_) return Unexpected{broken(0)};
  header.serial = ++serial_;
  Answer answer;
  answer.bytes.resize(kMaxMessage);
  Datagram datagram;
  const int error = exchange(socket_.get(), request, header.serial, fd, answer.bytes, datagram);
  // A daemon that is stopped goes on some day, and takes a closed connection for a process that has ended.
  if (error == EAGAIN) return Unexpected{broken(error)};
  if (error != 0 || datagram.size == 0) {
    socket_.reset();
    return Unexpected{broken(error)};
  }
  answer.bytes.resize(datagram.size);
  answer.fd = std::move(datagram.fds[0]);
  const auto head = peek_header(answer.bytes);
  if (!head || datagram.truncated || head->serial != header.serial) {
    socket_.reset();
    return Unexpected{bad_reply()};
  }
  if (head->version != kProtocolVersion) {
    socket_.reset();
    return Unexpected{make_error(refuse(EPROTO, ReasonId::daemon_version, head->version, kProtocolVersion))};
  }
  if (const auto refused = parse_message<ErrorReply>(answer.bytes)) return Unexpected{error_in(*refused)};
  return answer;
}

Expected<void, Error> Client::greet() {
  auto hello = make_message<Hello>();
  hello.pid = getpid();
  put_text(hello.comm, own_comm());
  UniqueFd notifications;
  const auto welcome = ask_for<Welcome>(hello, -1, &notifications);
  if (!welcome) return Unexpected{welcome.error()};
  if (!notifications) return Unexpected{make_error(refuse(EMFILE, ReasonId::out_of_fds, EMFILE))};
  notifications_ = std::move(notifications);
  daemon_pid_ = welcome->pid;
  return {};
}

Expected<std::vector<device::DeviceInfo>, Error> Client::devices() {
  const auto reply = ask_for<DevicesReply>(make_message<ListDevices>());
  if (!reply) return Unexpected{reply.error()};
  if (reply->count > kMaxDevices) return Unexpected{bad_reply()};
  std::vector<device::DeviceInfo> devices;
  for (std::size_t i = 0; i < reply->count; ++i) {
    auto device = from_record(reply->devices[i]);
    if (!device) return Unexpected{bad_reply()};
    devices.push_back(std::move(*device));
  }
  return devices;
}

Expected<LaneGrant, Error> Client::take_lane() {
  LaneGrant lane;
  const auto reply = ask_for<LaneReply>(make_message<TakeLane>(), -1, &lane.socket);
  if (!reply) return Unexpected{reply.error()};
  if (reply->lane == 0 || reply->lane > 0xff || reply->first_index > 0xffff) return Unexpected{bad_reply()};
  if (!lane.socket) {  // this process has no room for it
    static_cast<void>(give_back_lane(static_cast<std::uint8_t>(reply->lane)));
    return Unexpected{make_error(refuse(EMFILE, ReasonId::out_of_fds, EMFILE))};
  }
  lane.number = static_cast<std::uint8_t>(reply->lane);
  lane.first_index = static_cast<std::uint16_t>(reply->first_index);
  lane.dual_stack = reply->dual_stack != 0;
  lane.fabric = reply->fabric != 0;
  return lane;
}

Expected<void, Error> Client::give_back_lane(std::uint8_t lane) {
  auto request = make_message<GiveBackLane>();
  request.lane = lane;
  return without_value(ask_for<Done>(request));
}

Expected<void, Error> Client::reclaim_lane(std::uint8_t lane, int socket) {
  auto request = make_message<ReclaimLane>();
  request.lane = lane;
  return without_value(ask_for<Done>(request, socket));
}

Expected<void, Error> Client::settled() { return without_value(ask_for<Done>(make_message<Settled>())); }

Expected<UniqueFd, Error> Client::share_memory(ShareMemory request) {
  UniqueFd locks;
  const auto reply = ask_for<LocksReply>(request, -1, &locks);
  if (!reply) return Unexpected{reply.error()};
  return locks;
}

Expected<LocalPeerReply, Error> Client::find_local_peer(std::uint8_t lane) {
  auto request = make_message<FindLocalPeer>();
  request.lane = lane;
  return ask_for<LocalPeerReply>(request);
}

Expected<void, Error> Client::hold_devices() {
  return without_value(ask_for<Done>(make_message<HoldDevices>()));
}

Expected<void, Error> Client::register_page(int memfd) {
  return without_value(ask_for<Done>(make_message<RegisterPage>(), memfd));
}

Expected<void, Error> Client::add_link(const device::NewDevice& device) {
  auto request = make_message<AddLink>();
  request.kind = static_cast<std::uint32_t>(device.kind);
  request.mpa = mpa_bits(device.mpa);
  if (!put_text(request.name, device.name) || !put_text(request.netdev, device.netdev))
    return Unexpected{make_error(
        refuse(EINVAL, ReasonId::link_name_bad, std::max(device.name.size(), device.netdev.size())))};
  return without_value(ask_for<Done>(request));
}

Expected<void, Error> Client::delete_link(const std::string& name) {
  auto request = make_message<DeleteLink>();
  if (!put_text(request.name, name))
    return Unexpected{make_error(refuse(EINVAL, ReasonId::link_name_bad, name.size()))};
  return without_value(ask_for<Done>(request));
}

Expected<void, Error> Client::streams_ended(std::span<const std::uint64_t> tokens) {
  auto request = make_message<CmStreamsEnded>();
  request.count = static_cast<std::uint32_t>(std::min(tokens.size(), CmStreamsEnded::kMost));
  std::copy_n(tokens.begin(), request.count, request.tokens);
  return without_value(ask_for<Done>(request));
}

Expected<std::vector<PageFd>, Error> Client::pages() {
  std::vector<PageFd> pages;
  auto request = make_message<NextPage>();
  for (;;) {
    PageFd page;
    const auto reply = ask_for<PageReply>(request, -1, &page.fd);
    if (!reply) return Unexpected{reply.error()};
    if (reply->number == 0) return pages;
    const auto comm = text_in(reply->comm);
    if (!comm || !page.fd || reply->number <= request.after) return Unexpected{bad_reply()};
    page.pid = reply->pid;
    page.comm = *comm;
    page.ended_ns = reply->ended_ns;
    request.after = reply->number;
    pages.push_back(std::move(page));
  }
}

Expected<std::vector<CmIdListing>, Error> Client::cm_ids() {
  std::vector<CmIdListing> ids;
  auto request = make_message<CmNextId>();
  for (;;) {
    const auto reply = ask_for<CmIdListing>(request);
    if (!reply) return Unexpected{reply.error()};
    if (reply->key == 0) return ids;
    request.after = reply->key;
    ids.push_back(*reply);
  }
}

Expected<StatusReply, Error> Client::status() { return ask_for<StatusReply>(make_message<StatusRequest>()); }

Expected<void, Error> Client::shutdown() {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, daemon_pid_, 0)));
  auto done = without_value(ask_for<Done>(make_message<Shutdown>()));
  pollfd ended{process.get(), POLLIN, 0};
  if (done && process) poll(&ended, 1, static_cast<int>(std::chrono::milliseconds(kAnswerTimeout).count()));
  return done;
}

Expected<std::optional<Notification>, Error> Client::read_notification() {
  if (getpid() != owner_) return Unexpected{make_error(refuse(EPERM, ReasonId::forked_child))};
  NotificationMessage message;
  Datagram datagram;
  const int error = receive_datagram(notifications_.get(), std::as_writable_bytes(std::span(&message, 1)),
                                     datagram, MSG_DONTWAIT);
  if (error == EAGAIN) return std::optional<Notification>();
  if (error != 0 || datagram.size == 0) return Unexpected{broken(0)};
  const Bytes received = std::as_bytes(std::span(&message, 1)).first(std::min(datagram.size, sizeof message));
  if (parse_message<Farewell>(received)) {
    took_leave_.store(true, std::memory_order_release);
    return Unexpected{broken(0)};
  }
  const auto parsed = parse_message<NotificationMessage>(received);
  auto device = parsed ? from_record(parsed->device) : std::nullopt;
  if (!device) return Unexpected{bad_reply()};
  return std::optional<Notification>(Notification{parsed->change, std::move(*device)});
}

}  // namespace softrnic::control
