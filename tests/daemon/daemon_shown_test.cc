// Who is shown what: a program that has the user number of its local peer, but lives in namespaces of its own
// and has no capabilities, reaches the same daemon. Whatever it says there, it gets nothing of the
// local peer's.
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>

#include "base/reason_id.h"
#include "control/channel.h"
#include "control/shared_memory.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

using control::Client;
using control::MessageType;

/// What a stranger may have got, as bits of an exit status.
enum Loot : int {
  nothing = 0,
  lane_socket = 1,
  memory = 2,
  doorbell = 4,
  page = 8,
  other = 16,
  no_attempt = 64
};

/// What is the local peer's, for a stranger to compare with.
struct LocalPeer {
  std::uint32_t lane = 0;
  ino_t socket = 0;
};

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return syscall(SYS_capset, &header, none.data()) == 0;
}

bool map_root_to_itself() {
  const auto write = [](const char* path, const char* text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  };
  return write("/proc/self/setgroups", "deny") && write("/proc/self/uid_map", "0 0 1") &&
         write("/proc/self/gid_map", "0 0 1");
}

/// `body` in new namespaces, as user 0 without a capability. Its result, or no_attempt.
int as_stranger(int namespaces, const std::function<int()>& body) {
  const pid_t starter = fork();
  if (starter == 0) {
    if (unshare(namespaces) != 0) _exit(no_attempt);
    if ((namespaces & CLONE_NEWUSER) != 0 && !map_root_to_itself()) _exit(no_attempt);
    const pid_t stranger = fork();
    if (stranger == 0) _exit(drop_capabilities() ? body() : no_attempt);
    int status = 0;
    _exit(waitpid(stranger, &status, 0) == stranger && WIFEXITED(status) ? WEXITSTATUS(status) : no_attempt);
  }
  int status = 0;
  return waitpid(starter, &status, 0) == starter && WIFEXITED(status) ? WEXITSTATUS(status) : no_attempt;
}

/// Requests of every type and of the usual sizes, all their words the number of the local peer's lane, or 0.
class Stranger {
 public:
  explicit Stranger(const LocalPeer& local_peer) : local_peer_(local_peer) {}

  int asks_for_everything() {
    constexpr std::uint16_t kTypes = 0x60;
    int loot = nothing;
    for (std::uint16_t type = 1; type < kTypes; ++type) {
      if (type == static_cast<std::uint16_t>(MessageType::hello) ||
          type == static_cast<std::uint16_t>(MessageType::shutdown))
        continue;
      for (std::size_t words = 0; words <= 8; ++words)
        for (const std::uint32_t word : {local_peer_.lane, 0U})
          loot |= ask(static_cast<MessageType>(type), words, word);
    }
    return loot;
  }

  /// What the keeper of the lanes gives to who says that it is a new daemon.
  int inherits() {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const control::AbstractName name = control::daemon_name(geteuid(), "/keeper");
    constexpr std::array<std::uint32_t, 2> kTakeOver{4, 0};
    control::Datagram got;
    if (::connect(socket.get(), name.get(), name.length) != 0) return no_attempt;
    return exchange(socket.get(), control::bytes_of(kTakeOver), got) && got.fd_count != 0 ? lane_socket
                                                                                          : nothing;
  }

  /// Whether anything is done that it says; shows what was answered to the last.
  bool commands() {
    auto add = control::make_message<control::AddLink>();
    control::put_text(add.name, "stolen");
    control::put_text(add.netdev, "lo");
    auto remove = control::make_message<control::DeleteLink>();
    control::put_text(remove.name, "soft0");
    const auto end = control::make_message<control::Shutdown>();
    return obeyed(control::bytes_of(add)) || obeyed(control::bytes_of(remove)) ||
           obeyed(control::bytes_of(end));
  }

 private:
  /// None: the daemon cannot be reached.
  UniqueFd connect() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const timeval limit{10, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const control::AbstractName name = control::daemon_name(geteuid());
    auto hello = control::make_message<control::Hello>();
    hello.pid = getpid();
    control::Datagram got;
    const bool met = ::connect(socket.get(), name.get(), name.length) == 0 &&
                     exchange(socket.get(), control::bytes_of(hello), got);
    return met ? std::move(socket) : UniqueFd();
  }

  int ask(MessageType type, std::size_t words, std::uint32_t word) {
    const UniqueFd socket = connect();
    if (!socket) return no_attempt;
    std::array<std::uint32_t, 12> request{};
    request.fill(word);
    control::Header header;
    header.type = type;
    header.size = static_cast<std::uint32_t>(sizeof header + words * sizeof word);
    std::memcpy(request.data(), &header, sizeof header);
    control::Datagram got;
    if (!exchange(socket.get(), std::as_bytes(std::span(request)).first(header.size), got)) return nothing;
    return got.fd_count == 0 ? nothing : judge(got.fds[0].get());
  }

  bool obeyed(Bytes order) {
    const UniqueFd socket = connect();
    control::Datagram got;
    if (!socket || !exchange(socket.get(), order, got)) return true;
    const auto reply = control::parse_message<control::ErrorReply>(std::span(answer_).first(got.size));
    return !reply || reply->reason != static_cast<std::uint32_t>(ReasonId::daemon_apart);
  }

  bool exchange(int socket, Bytes request, control::Datagram& got) {
    return control::send_datagram(socket, request) == 0 &&
           control::receive_datagram(socket, answer_, got) == 0 && got.size != 0;
  }

  /// A lane's socket that is not the local peer's is the stranger's own.
  int judge(int fd) const {
    struct stat status {};
    if (fstat(fd, &status) != 0) return other;
    if (S_ISSOCK(status.st_mode)) return status.st_ino == local_peer_.socket ? lane_socket : nothing;
    control::Header header;
    std::memcpy(&header, answer_.data(), sizeof header);
    if (S_ISREG(status.st_mode)) return header.type == MessageType::page ? page : memory;
    return doorbell;
  }

  const LocalPeer local_peer_;
  std::array<std::byte, control::kMaxMessage> answer_{};
};

class DaemonShownTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    client_ = connect();
    ASSERT_NE(client_, nullptr);
    auto lane = client_->take_lane();
    ASSERT_TRUE(lane);
    lane_ = std::move(*lane);
    memory_ = control::make_shared_memory("test", 4096);
    ASSERT_TRUE(client_->register_page(memory_.get()));
    auto share = control::make_message<control::ShareMemory>();
    share.pid = getpid();
    share.memory = name_of(memory_.get());
    share.count = 1;
    share.doorbells[0] = {.lane = lane_.number, .doorbell = name_of(memory_.get())};
    const auto locks = client_->share_memory(share);
    ASSERT_TRUE(locks && *locks);
    struct stat status {};
    ASSERT_EQ(fstat(lane_.socket.get(), &status), 0);
    local_peer_ = {lane_.number, status.st_ino};
  }

  std::unique_ptr<Client> client_;
  control::LaneGrant lane_;
  UniqueFd memory_;
  LocalPeer local_peer_;
};

constexpr int kContainer = CLONE_NEWPID | CLONE_NEWNS;
constexpr int kStrangers[] = {0, kContainer,
                              kContainer | CLONE_NEWUSER};  ///< the first lacks capabilities alone

TEST_F(DaemonShownTest, AStrangerGetsNothing) {
  for (const int namespaces : kStrangers) {
    const int loot = as_stranger(namespaces, [this] { return Stranger(local_peer_).asks_for_everything(); });
    EXPECT_EQ(loot, nothing) << "lane socket 1, memory 2, bell 4, page 8; namespaces " << namespaces;
  }
}

TEST_F(DaemonShownTest, AStrangerIsNotTheDaemonsHeir) {
  for (const int namespaces : kStrangers) {
    const int loot = as_stranger(namespaces, [this] { return Stranger(local_peer_).inherits(); });
    EXPECT_EQ(loot, nothing) << namespaces;
  }
}

TEST_F(DaemonShownTest, AStrangerCommandsNothing) {
  for (const int namespaces : kStrangers) {
    const int obeyed = as_stranger(namespaces, [this] { return Stranger(local_peer_).commands() ? 1 : 0; });
    EXPECT_EQ(obeyed, 0) << namespaces;
  }
  EXPECT_TRUE(client_->status());
}

/// The reason why a lane's memory is not to be found, or none.
std::optional<ReasonId> why_not_found(std::uint8_t lane) {
  const auto client = Client::connect();
  if (!client) return client.error().failure.reason.id;
  const auto found = (*client)->find_local_peer(lane);
  return found ? std::nullopt : std::optional(found.error().failure.reason.id);
}

TEST_F(DaemonShownTest, AStrangerIsToldWhyItFindsNothing) {
  for (const int namespaces : kStrangers) {
    const int told = as_stranger(
        namespaces, [this] { return why_not_found(lane_.number) == ReasonId::local_peer_apart ? 0 : 1; });
    EXPECT_EQ(told, 0) << namespaces;
  }
}

TEST_F(DaemonShownTest, AProcessOfTheSameKindFindsItsLocalPeer) {
  const Child child([this] { return why_not_found(lane_.number) ? 1 : 0; });
  EXPECT_EQ(child.result(), 0);
}

}  // namespace
}  // namespace softrnic::tests
