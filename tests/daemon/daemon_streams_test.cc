// Connections of iWARP through a daemon that runs: the TCP sockets that both programs get, what strangers
// may do at a port, and either side killed at every stage.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/reason_id.h"
#include "tests/daemon/caller.h"

namespace softrnic::tests {
namespace {

constexpr const char* kDevice = "iw0";

/// TCP to the loopback address.
UniqueFd stranger(std::uint16_t port = kPort) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_storage to = loopback(port);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(sockaddr_in)) != 0) socket.reset();
  return socket;
}

/// The other end has ended it within ten seconds, whatever it sent before.
bool ends(const UniqueFd& socket) {
  std::array<char, 1024> bytes;
  for (;;) {
    pollfd ready{socket.get(), POLLIN, 0};
    if (poll(&ready, 1, 10'000) != 1) return false;
    if (read(socket.get(), bytes.data(), bytes.size()) <= 0) return true;
  }
}

bool carries(const UniqueFd& from, const UniqueFd& to) {
  std::array<char, 5> bytes{};
  if (write(from.get(), "hello", bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
  pollfd ready{to.get(), POLLIN, 0};
  return poll(&ready, 1, 10'000) == 1 && read(to.get(), bytes.data(), bytes.size()) > 0 &&
         std::memcmp(bytes.data(), "hello", bytes.size()) == 0;
}

std::size_t descriptors_of(pid_t pid) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
    ++count;
  return count;
}

/// User and system time in clock ticks.
long processor_time_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  long time = 0;
  for (int i = 1; i <= 15 && file >> word; ++i)
    if (i >= 14) time += std::stol(word);
  return time;
}

class StreamsTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    keeper = connect();
    ASSERT_TRUE(keeper->add_link({kDevice, "lo", device::Kind::iwarp}));
  }

  static std::unique_ptr<Caller> caller() { return std::make_unique<Caller>(connect(), kDevice); }
  static std::unique_ptr<Caller> listener(std::uint16_t port = kPort) {
    auto made = caller();
    EXPECT_TRUE(made->daemon().bind(made->id(), loopback(port)));
    EXPECT_TRUE(made->daemon().listen(made->id(), 8));
    return made;
  }
  /// One whose request is under way.
  static std::unique_ptr<Caller> asking() {
    auto made = caller();
    EXPECT_EQ(made->find_route(loopback(kPort)), 0);
    EXPECT_TRUE(made->daemon().connect(made->id(), parameters(0x111), {}));
    return made;
  }
  static control::CmNumber request_at(Caller& server) {
    control::CmEventReply event;
    EXPECT_EQ(server.next(&event), RDMA_CM_EVENT_CONNECT_REQUEST);
    return event.id;
  }
  /// Both sides' events until the connection is there.
  static void accept(Caller& server, control::CmNumber id, Caller& client, control::CmStream& passive,
                     control::CmStream& active) {
    auto accepted = server.daemon().accept(id, 2, parameters(0x222), {});
    ASSERT_TRUE(accepted);
    ASSERT_TRUE(accepted->socket);
    passive = std::move(*accepted);
    ASSERT_TRUE(server.daemon().has_stream(id));
    ASSERT_EQ(server.next(), RDMA_CM_EVENT_ESTABLISHED);
    control::CmEventReply event;
    ASSERT_EQ(client.next(&event, &active.socket), RDMA_CM_EVENT_ESTABLISHED);
    active.grant = event.stream;
  }

  /// The daemon has as many descriptors again, within ten seconds.
  bool comes_to(std::size_t before) {
    const auto count = [&] { return descriptors_of(keeper->daemon_pid()); };
    return wait_status(*keeper, [&](const control::StatusReply&) { return count() <= before; });
  }
  /// The daemon knows of so many ids, within ten seconds, and has seen to what came of that.
  bool ids_come_to(std::size_t count) {
    const auto known = [&](const control::StatusReply&) { return keeper->cm_ids()->size() == count; };
    return wait_status(*keeper, known) && keeper->status();
  }

  std::unique_ptr<control::Client> keeper;
};

TEST_F(StreamsTest, TheDeviceIsOneOfIwarp) {
  const auto devices = keeper->devices();
  ASSERT_TRUE(devices && devices->size() == 2);
  EXPECT_EQ((*devices)[0].kind, device::Kind::roce_v2);
  EXPECT_EQ((*devices)[1].kind, device::Kind::iwarp);
  EXPECT_EQ((*devices)[1].port.gids.size(), 1U);
}

TEST_F(StreamsTest, BothProgramsGetTheirEndOfOneConnection) {
  const auto server = listener();
  const auto client = asking();
  control::CmStream passive, active;
  ASSERT_NO_FATAL_FAILURE(accept(*server, request_at(*server), *client, passive, active));
  EXPECT_EQ(passive.grant.initiator, 0);
  EXPECT_EQ(active.grant.initiator, 1);
  EXPECT_EQ(active.grant.revision, 2);
  EXPECT_EQ(active.grant.ird, 4);
  EXPECT_NE(active.grant.token, 0U);
  EXPECT_NE(active.grant.token, passive.grant.token);
  EXPECT_TRUE(carries(active.socket, passive.socket));
  EXPECT_TRUE(carries(passive.socket, active.socket));
  active.socket.reset();
  EXPECT_TRUE(ends(passive.socket)) << "the daemon has kept no copy";
  const std::array made_up{std::uint64_t{0}, std::uint64_t{1}, passive.grant.token + 1};
  ASSERT_TRUE(server->daemon().streams_ended(made_up));
  ASSERT_TRUE(keeper->streams_ended(std::span(&passive.grant.token, 1))) << "by any connection of the user";
  control::CmEventReply event;
  EXPECT_EQ(server->next(&event), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(event.cookie, 2U);
  EXPECT_EQ(event.status, 0);
}

TEST_F(StreamsTest, APortOfTcpIsTakenOnce) {
  UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_storage at = loopback(kPort);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(sockaddr_in)), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  const auto server = caller();
  ASSERT_TRUE(server->daemon().bind(server->id(), loopback(kPort)));
  const auto listens = server->daemon().listen(server->id(), 1);
  ASSERT_FALSE(listens);
  EXPECT_EQ(listens.error().failure.error, EADDRINUSE);
  EXPECT_EQ(listens.error().failure.reason.id, ReasonId::iwcm_listen);
}

// The wildcard is 127.0.0.1 and ::1 here, of which another program has one.
TEST_F(StreamsTest, AWildcardWithoutOneOfItsAddresses) {
  UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_storage at = loopback(kPort);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(sockaddr_in)), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  const auto server = caller();
  sockaddr_storage any{};
  any.ss_family = AF_INET6;
  reinterpret_cast<sockaddr_in6&>(any).sin6_port = htons(kPort);
  ASSERT_TRUE(server->daemon().bind(server->id(), any));
  const auto listens = server->daemon().listen(server->id(), 1);
  ASSERT_FALSE(listens);
  EXPECT_EQ(listens.error().failure.error, EADDRINUSE);
  other.reset();
  EXPECT_TRUE(server->daemon().listen(server->id(), 1)) << "nothing is left of the first try";
}

TEST_F(StreamsTest, TheTypeOfServiceOfAListenerIsThatOfItsConnections) {
  const auto server = caller();
  const std::uint8_t wanted = 0x28;
  ASSERT_TRUE(server->daemon().set_option(server->id(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, {&wanted, 1}));
  ASSERT_TRUE(server->daemon().bind(server->id(), loopback(kPort)));
  ASSERT_TRUE(server->daemon().listen(server->id(), 1));
  const auto client = asking();
  const auto accepted = server->daemon().accept(request_at(*server), 2, parameters(0x222), {});
  ASSERT_TRUE(accepted && accepted->socket);
  int tos = 0;
  socklen_t size = sizeof tos;
  ASSERT_EQ(getsockopt(accepted->socket.get(), SOL_IP, IP_TOS, &tos, &size), 0);
  EXPECT_EQ(tos, wanted);
}

TEST_F(StreamsTest, AnIdThatDisconnectsBeforeItHasFetchedEstablished) {
  const auto server = listener();
  const auto client = asking();
  const control::CmNumber id = request_at(*server);
  auto accepted = server->daemon().accept(id, 2, parameters(0x222), {});
  ASSERT_TRUE(accepted && accepted->socket);
  ASSERT_TRUE(client->daemon().disconnect(client->id()));
  EXPECT_EQ(client->next(), RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(client->next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(ends(accepted->socket));
}

TEST_F(StreamsTest, NobodyListens) {
  const auto client = asking();
  control::CmEventReply event;
  EXPECT_EQ(client->next(&event), RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, -ECONNREFUSED);
}

TEST_F(StreamsTest, StrangersAtThePort) {
  const auto server = listener();
  const UniqueFd garbage = stranger();
  ASSERT_TRUE(garbage);
  ASSERT_EQ(write(garbage.get(), "GET / HTTP/1.1\r\n\r\n", 18), 18);
  EXPECT_TRUE(ends(garbage));
  const UniqueFd silent = stranger();
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 1100; ++i) {
    flood.push_back(stranger());
    ASSERT_TRUE(flood.back()) << i;
  }
  EXPECT_TRUE(ends(silent)) << "displaced by those that came later";
  const auto client = asking();
  control::CmStream passive, active;
  ASSERT_NO_FATAL_FAILURE(accept(*server, request_at(*server), *client, passive, active));
  EXPECT_TRUE(ends(flood.back())) << "nothing is waited for without end";
}

TEST_F(StreamsTest, AKilledClientAtEveryStage) {
  const auto server = listener();
  for (int stage = 0; stage < 3; ++stage) {
    const std::size_t before = descriptors_of(keeper->daemon_pid());
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto client = asking();
      UniqueFd socket;
      if (stage == 2) client->next(nullptr, &socket);
      [[maybe_unused]] const ssize_t told = write(report[1], "x", 1);
      pause();
      _exit(0);
    }
    control::CmNumber id = stage > 0 ? request_at(*server) : 0;
    control::CmStream passive;
    if (stage == 2) {
      auto accepted = server->daemon().accept(id, 2, parameters(1), {});
      ASSERT_TRUE(accepted);
      passive = std::move(*accepted);
    }
    char told = 0;
    ASSERT_EQ(read(report[0], &told, 1), 1);
    if (stage == 0) {
      ASSERT_TRUE(ids_come_to(3)) << "the request is there";
    }
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(report[0]);
    close(report[1]);
    if (stage < 2) {
      ASSERT_TRUE(ids_come_to(2)) << "the listener, and the request";
      if (stage == 0) id = request_at(*server);
      const auto accepted = server->daemon().accept(id, 2, parameters(1), {});
      ASSERT_FALSE(accepted);
      EXPECT_EQ(accepted.error().failure.error, ECONNRESET);
    }
    if (stage == 2) {
      EXPECT_TRUE(ends(passive.socket));
    }
    if (id != 0) {
      EXPECT_TRUE(server->daemon().destroy_id(id));
    }
    passive.socket.reset();
    EXPECT_TRUE(comes_to(before)) << stage;
  }
}

TEST_F(StreamsTest, AKilledServerAtEveryStage) {
  for (int stage = 0; stage < 3; ++stage) {
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto server = listener();
      [[maybe_unused]] ssize_t told = write(report[1], "l", 1);
      if (stage > 0) {
        const control::CmNumber id = request_at(*server);
        control::CmStream stream;
        if (stage == 2) stream = std::move(*server->daemon().accept(id, 2, parameters(1), {}));
        told = write(report[1], "r", 1);
        pause();
      }
      pause();
      _exit(0);
    }
    char told = 0;
    ASSERT_EQ(read(report[0], &told, 1), 1);
    const auto client = asking();
    if (stage > 0) {
      ASSERT_EQ(read(report[0], &told, 1), 1);
    }
    UniqueFd socket;
    if (stage == 2) {
      ASSERT_EQ(client->next(nullptr, &socket), RDMA_CM_EVENT_ESTABLISHED);
    }
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(report[0]);
    close(report[1]);
    if (stage < 2) {
      EXPECT_EQ(client->next(), RDMA_CM_EVENT_REJECTED) << stage;
    }
    if (stage == 2) {
      EXPECT_TRUE(ends(socket));
    }
  }
}

TEST_F(StreamsTest, AThousandConnections) {
  const auto server = listener();
  const std::size_t before = descriptors_of(keeper->daemon_pid());
  std::vector<std::unique_ptr<Caller>> clients;
  constexpr int kTurns = 20, kAtOnce = 50;
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<control::CmNumber> passive_ids;
    for (int i = 0; i < kAtOnce; ++i) clients.push_back(asking());
    std::vector<UniqueFd> sockets;
    for (int i = 0; i < kAtOnce; ++i) {
      const control::CmNumber id = request_at(*server);
      auto accepted = server->daemon().accept(id, 2, parameters(1), {});
      ASSERT_TRUE(accepted && accepted->socket) << turn << ", " << i;
      sockets.push_back(std::move(accepted->socket));
      passive_ids.push_back(id);
    }
    for (const auto& client : clients) {
      UniqueFd socket;
      ASSERT_EQ(client->next(nullptr, &socket), RDMA_CM_EVENT_ESTABLISHED);
      ASSERT_TRUE(socket);
    }
    for (const control::CmNumber id : passive_ids) ASSERT_TRUE(server->daemon().destroy_id(id));
    clients.clear();
  }
  EXPECT_TRUE(comes_to(before));
}

TEST_F(StreamsTest, ADaemonWithoutDescriptorsWaitsAndDoesNotSpin) {
  const auto server = listener();
  const auto client = caller();
  ASSERT_EQ(client->find_route(loopback(kPort)), 0);
  const pid_t daemon = keeper->daemon_pid();
  rlimit before{};
  ASSERT_EQ(prlimit(daemon, RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{descriptors_of(daemon), before.rlim_max};
  ASSERT_EQ(prlimit(daemon, RLIMIT_NOFILE, &none, nullptr), 0);
  const UniqueFd early = stranger();
  ASSERT_TRUE(early) << "the kernel takes it";
  const long begin = processor_time_of(daemon);
  pollfd quiet{early.get(), POLLIN, 0};
  EXPECT_EQ(poll(&quiet, 1, 500), 0);
  EXPECT_LE(processor_time_of(daemon) - begin, 10) << "of 50 ticks";
  ASSERT_EQ(prlimit(daemon, RLIMIT_NOFILE, &before, nullptr), 0);
  ASSERT_EQ(write(early.get(), "x", 1), 1);
  EXPECT_TRUE(ends(early)) << "it is taken, and is no MPA";
}

}  // namespace
}  // namespace softrnic::tests
