// Nonsense over the real socket: whoever sends it is told and dropped, everybody else notices nothing.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

#include "base/reason_id.h"
#include "control/channel.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

using control::MessageType;
using Datagram = std::vector<std::byte>;

template <typename T>
Datagram datagram_of(T message) {
  const Bytes bytes = control::bytes_of(message);
  return {bytes.begin(), bytes.end()};
}

/// How a datagram departs from a request that is in order.
enum class Damage { none, flipped, cut, extended, noise, oversized, count_ };

class Nonsense {
 public:
  explicit Nonsense(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return random_() % bound; }

  Datagram hello() {
    auto message = control::make_message<control::Hello>(number());
    message.pid = static_cast<std::int32_t>(random_());
    control::put_text(message.comm, "nonsense");
    return datagram_of(message);
  }

  /// A request after hello with figures and names by chance; never shutdown.
  Datagram request() {
    switch (below(9)) {
      case 0:
        return bare<control::ListDevices>();
      case 1:
        return bare<control::HoldDevices>();
      case 2:
        return bare<control::TakeLane>();
      case 3:
        return bare<control::RegisterPage>();
      case 4:
        return bare<control::StatusRequest>();
      case 5: {
        auto message = control::make_message<control::GiveBackLane>(number());
        message.lane = static_cast<std::uint32_t>(below(300));
        return datagram_of(message);
      }
      case 6: {
        auto message = control::make_message<control::AddLink>(number());
        fill(message.name);
        control::put_text(message.netdev, below(2) == 0 ? "lo" : "none");
        return datagram_of(message);
      }
      case 7: {
        auto message = control::make_message<control::DeleteLink>(number());
        fill(message.name);
        return datagram_of(message);
      }
      default: {
        auto message = control::make_message<control::NextPage>(number());
        message.after = random_();
        return datagram_of(message);
      }
    }
  }

  Datagram damaged(Datagram datagram, Damage damage) {
    switch (damage) {
      case Damage::flipped:
        for (std::size_t i = 0, n = 1 + below(8); i < n; ++i)
          datagram[below(datagram.size())] ^= std::byte(1 + below(255));
        break;
      case Damage::cut:
        datagram.resize(below(datagram.size()));
        break;
      case Damage::extended:
        datagram.resize(datagram.size() + 1 + below(100), std::byte(below(256)));
        break;
      case Damage::noise:
        datagram.resize(below(2000));
        for (std::byte& byte : datagram) byte = std::byte(below(256));
        break;
      case Damage::oversized:
        datagram.resize(control::kMaxMessage + 1 + below(8000));
        break;
      default:
        break;
    }
    return datagram;
  }

 private:
  std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }
  template <typename T>
  Datagram bare() {
    return datagram_of(control::make_message<T>(number()));
  }
  void fill(std::span<char> text) {
    for (char& c : text) c = static_cast<char>(below(4) == 0 ? 0 : below(256));
  }

  std::mt19937 random_;
};

struct Reply {
  control::Header header;
  bool is_nonsense = false;  ///< the daemon says that it cannot make sense of the request
};

/// A client that says what it likes.
class RawClient {
 public:
  RawClient() : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const timeval limit{10, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const control::AbstractName name = control::daemon_name(geteuid());
    EXPECT_EQ(::connect(socket_.get(), name.get(), name.length), 0) << "errno " << errno;
  }

  /// 0 or a positive errno.
  int send(const Datagram& datagram, int fd = -1) {
    return control::send_datagram(socket_.get(), datagram, fd);
  }
  /// The next answer; nothing when the daemon has closed the connection. Fails the test when it does neither.
  std::optional<Reply> answer() {
    std::array<std::byte, control::kMaxMessage> buffer;
    control::Datagram got;
    const int error = control::receive_datagram(socket_.get(), buffer, got);
    if (error == ECONNRESET || (error == 0 && got.size == 0)) return std::nullopt;
    EXPECT_EQ(error, 0);
    const Bytes bytes = std::span(buffer).first(got.size);
    const auto header = control::peek_header(bytes);
    EXPECT_TRUE(header);
    const auto refusal = control::parse_message<control::ErrorReply>(bytes);
    const auto reason = static_cast<ReasonId>(refusal ? refusal->reason : 0);
    return Reply{header.value_or(control::Header{}),
                 reason == ReasonId::daemon_bad_message || reason == ReasonId::daemon_version};
  }

 private:
  UniqueFd socket_;
};

class DaemonFuzzTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    bystander_ = connect();
    ASSERT_NE(bystander_, nullptr);
    ASSERT_TRUE(bystander_->take_lane());
  }
  void TearDown() override {
    bystander_.reset();
    DaemonTest::TearDown();
  }

  /// Says one thing and sees that it is answered; false: the daemon has dropped the client.
  static bool converse(RawClient& client, Nonsense& nonsense, int fd) {
    const auto damage = static_cast<Damage>(nonsense.below(static_cast<std::size_t>(Damage::count_)));
    const Datagram request = nonsense.request();
    const Datagram sent = nonsense.damaged(request, damage);
    if (control::parse_message<control::Shutdown>(sent)) return true;  // chance may say even that
    if (client.send(sent, fd) != 0) return false;
    if (sent.empty())
      return client.answer().has_value();  // SOCK_SEQPACKET has it for the end of the connection
    const auto answer = client.answer();
    EXPECT_TRUE(answer) << "dropped without a word";
    if (!answer) return false;
    if (answer->is_nonsense) {
      EXPECT_NE(damage, Damage::none);
      EXPECT_FALSE(client.answer()) << "nonsense, and not dropped";
      return false;
    }
    EXPECT_TRUE(damage == Damage::none || damage == Damage::flipped) << "nonsense, and taken";
    if (damage == Damage::none) {
      EXPECT_EQ(answer->header.serial, control::peek_header(request)->serial);
    }
    return true;
  }

  std::size_t descriptors_of_daemon() const {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(bystander_->daemon_pid()) +
                                                  "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  std::unique_ptr<control::Client> bystander_;
};

TEST_F(DaemonFuzzTest, WhoSendsNonsenseIsDroppedAndNobodyElse) {
  constexpr unsigned kSeed = 20;
  constexpr int kConversations = 400;
  constexpr std::size_t kLongest = 6;
  const auto before = bystander_->status();
  ASSERT_TRUE(before);
  const std::size_t descriptors = descriptors_of_daemon();
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < kConversations && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", conversation " + std::to_string(i));
    Nonsense nonsense(kSeed * 1000000 + static_cast<unsigned>(i));
    RawClient client;
    if (nonsense.below(8) != 0) {
      ASSERT_EQ(client.send(nonsense.hello()), 0);
      ASSERT_EQ(client.answer()->header.type, MessageType::welcome);
    } else {
      ASSERT_EQ(client.send(nonsense.request()), 0);  // before hello nothing is in order
      ASSERT_TRUE(client.answer()->is_nonsense);
      ASSERT_FALSE(client.answer());
      continue;
    }
    const int fd = nonsense.below(3) == 0 ? null.get() : -1;
    for (std::size_t n = 0; n < kLongest && converse(client, nonsense, fd); ++n) {
    }
    if (i % 20 == 0) {
      ASSERT_TRUE(bystander_->devices());
    }
  }
  const auto settled = [](const control::StatusReply& status) {
    return status.clients == 1 && status.lanes_used == 1;
  };
  EXPECT_TRUE(wait_status(*bystander_, settled)) << "a client that has gone still holds something";
  const auto after = bystander_->status();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->pid, before->pid);
  EXPECT_GT(after->bad_messages, static_cast<std::uint32_t>(kConversations / 4));
  EXPECT_EQ(descriptors_of_daemon() - after->lanes_made, descriptors - before->lanes_made)
      << "descriptors that came with messages are closed, and only lanes are kept";
  EXPECT_TRUE(connect());
}

TEST_F(DaemonFuzzTest, WhoDoesNotReadItsAnswersIsDropped) {
  Nonsense nonsense(1);
  RawClient deaf;
  ASSERT_EQ(deaf.send(nonsense.hello()), 0);
  const Datagram question = datagram_of(control::make_message<control::ListDevices>());
  constexpr int kMoreThanAnySocketHolds = 100000;
  int error = 0;
  for (int i = 0; i < kMoreThanAnySocketHolds && error == 0; ++i) error = deaf.send(question);
  EXPECT_TRUE(error == EPIPE || error == ECONNRESET) << error;
  EXPECT_TRUE(bystander_->status());
}

}  // namespace
}  // namespace softrnic::tests
