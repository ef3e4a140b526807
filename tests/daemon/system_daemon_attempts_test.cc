// Attempts of one user on what is another's, with one daemon for both.
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "control/channel.h"
#include "control/cm_messages.h"
#include "tests/daemon/system_daemon_fixture.h"

namespace softrnic::tests {
namespace {

constexpr std::uint16_t kVictimPort = 7471, kLowPort = 99;

/// Whether a socket can be bound to the lanes' port, with that option.
bool binds_the_port(int option) {
  const UniqueFd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, option, &on, sizeof on);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(4791);
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
}

struct Prey {
  std::uint8_t lane = 0;
  ino_t locks = 0;
  control::CmNumber id = 0;  ///< that listens, by the daemon's number
};

bool sees_a_page(Program& own, const Prey&) {
  const auto pages = own.client().pages();
  return !pages || pages->size() != 1;
}
bool takes_the_memory(Program& own, const Prey& prey) {
  const auto found = own.client().find_local_peer(prey.lane);
  return found || !refused_with(EACCES, found.error());
}
bool gives_back_its_lane(Program& own, const Prey& prey) {
  return own.client().give_back_lane(prey.lane).has_value();
}
bool reclaims_its_lane(Program& own, const Prey& prey) {
  return own.client().reclaim_lane(prey.lane, own.lane.socket.get()).has_value();
}
bool offers_memory_as_its_lane(Program& own, const Prey& prey) {
  auto request = control::make_message<control::ShareMemory>();
  request.pid = getpid();
  request.count = 1;
  request.doorbells[0].lane = prey.lane;
  return own.client().share_memory(request).has_value();
}
bool gets_its_locks(Program& own, const Prey& prey) { return inode_of(own.locks()) == prey.locks; }
bool shows_what_is_no_namespace(Program& own, const Prey&) {
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return own.client()
      .ask_for<control::Done>(control::make_message<control::ShowNamespace>(), file.get())
      .has_value();
}
bool ends_the_daemon(Program& own, const Prey&) { return own.client().shutdown().has_value(); }
bool adds_a_device(Program& own, const Prey&) { return own.client().add_link({"mine", "lo"}).has_value(); }
bool removes_the_device(Program& own, const Prey&) { return own.client().delete_link("soft0").has_value(); }

template <int option>
bool filters(Program& own, const Prey&) {
  sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, 0xffff)};
  const sock_fprog program{1, all};
  return setsockopt(own.lane.socket.get(), SOL_SOCKET, option, &program, sizeof program) == 0;
}
template <int option>
bool clears(Program& own, const Prey&) {
  return sets_to_zero(own.lane.socket, option);
}

// By messages of its own: the library would not even send a number that it was not given.
bool is_refused(const control::Error& error) {
  return refused_with(ENOENT, error) || refused_with(EINVAL, error);
}

template <typename Reply, typename Request>
bool does(Program& own, const Request& request) {
  const auto done = own.client().ask_for<Reply>(request);
  return done || !is_refused(done.error());
}
template <typename Request, typename Reply>
bool on_its_id(Program& own, const Prey& prey) {
  auto request = control::make_message<Request>();
  request.id = prey.id;
  return does<Reply>(own, request);
}
bool lists_its_ids(Program& own, const Prey&) {
  const auto ids = own.client().cm_ids();
  return !ids || ids->size() != 1;
}
/// Channels have small numbers; those of the attacker are on other connections.
template <typename Request, typename Reply>
bool on_some_channel(Program& own, const Prey& prey) {
  for (std::uint32_t channel = 1; channel < 64; ++channel) {
    auto request = control::make_message<Request>();
    request.channel = channel;
    if constexpr (requires { request.id; }) request.id = prey.id;
    if (does<Reply>(own, request)) return true;
  }
  return false;
}
bool takes_its_port(Program& own, const Prey&) {
  return own.cm().bind(own.id, loopback(kVictimPort)).has_value();
}
bool takes_a_port_of_root(Program& own, const Prey&) {
  const auto bound = own.cm().bind(own.id, loopback(kLowPort));
  return bound || !refused_with(EACCES, bound.error());
}
bool becomes_the_keepers_heir(Program&, const Prey&) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const control::AbstractName name = control::daemon_name(kNobody, "/keeper");
  constexpr std::array<std::uint32_t, 3> kTakeOver{4, 0, 0};
  if (::connect(socket.get(), name.get(), name.length) != 0) return false;
  control::Datagram got;
  std::array<std::byte, 64> answer;
  control::send_datagram(socket.get(), control::bytes_of(kTakeOver));
  return control::receive_datagram(socket.get(), answer, got) == 0 && got.fd_count != 0;
}
bool joins_the_port(Program&, const Prey&) {
  return binds_the_port(SO_REUSEPORT) || binds_the_port(SO_REUSEADDR);
}

struct Attempt {
  const char* name;
  bool (*succeeds)(Program&, const Prey&);
};
constexpr Attempt kAttempts[] = {
    {"sees its page", sees_a_page},
    {"is told where its memory is", takes_the_memory},
    {"gives back its lane", gives_back_its_lane},
    {"reclaims its lane", reclaims_its_lane},
    {"offers memory as its lane", offers_memory_as_its_lane},
    {"gets its locks", gets_its_locks},
    {"shows a file for a namespace", shows_what_is_no_namespace},
    {"ends the daemon", ends_the_daemon},
    {"adds a device", adds_a_device},
    {"removes the device", removes_the_device},
    {"steers the packets of all", filters<SO_ATTACH_REUSEPORT_CBPF>},
    {"takes packets of others", filters<SO_ATTACH_FILTER>},
    {"removes the filter", clears<SO_DETACH_FILTER>},
    {"unlocks the filter", clears<SO_LOCK_FILTER>},
    {"destroys its id", on_its_id<control::CmDestroyId, control::CmEventsReply>},
    {"looks at its id", on_its_id<control::CmQueryId, control::CmIdReply>},
    {"makes its id listen", on_its_id<control::CmListen, control::Done>},
    {"disconnects its id", on_its_id<control::CmDisconnect, control::Done>},
    {"moves its id to a channel", on_some_channel<control::CmMigrateId, control::CmEventsReply>},
    {"lists its ids", lists_its_ids},
    {"hears its events", on_some_channel<control::CmGetEvent, control::CmEventReply>},
    {"closes its channel", on_some_channel<control::CmCloseChannel, control::Done>},
    {"puts an id on its channel", on_some_channel<control::CmCreateId, control::CmIdReply>},
    {"takes the port that it listens on", takes_its_port},
    {"takes a port of root's", takes_a_port_of_root},
    {"inherits the lanes from the keeper", becomes_the_keepers_heir},
    {"joins the lanes' port", joins_the_port},
};

TEST_F(SystemDaemonTest, AttemptsOnAnotherUserFail) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const Child victim([&] {
    if (!become(kVictim)) return kNoUser;
    auto* const program = new Program;
    if (!program->complete() || !program->cm().bind(program->id, loopback(kVictimPort)) ||
        !program->cm().listen(program->id, 8))
      return 1;
    const auto ids = program->client().cm_ids();
    if (!ids || ids->size() != 1) return 2;
    const Prey prey{program->lane.number, inode_of(program->locks()),
                    static_cast<control::CmNumber>(ids->front().key)};
    return write(told[1], &prey, sizeof prey) == sizeof prey ? 0 : 3;
  });
  ASSERT_EQ(victim.result(), 0);
  Prey prey;
  ASSERT_EQ(read(told[0], &prey, sizeof prey), static_cast<ssize_t>(sizeof prey));
  ASSERT_NE(prey.locks, 0U);
  ASSERT_NE(prey.id, 0U);
  for (const Attempt& attempt : kAttempts) {
    const int result = as_user(kAttacker, [&] {
      Program own;
      if (!own.complete()) return 2;
      return attempt.succeeds(own, prey) ? 1 : 0;
    });
    EXPECT_EQ(result, 0) << attempt.name;
  }
}

}  // namespace
}  // namespace softrnic::tests
