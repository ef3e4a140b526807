// librdmacm: names and services that are looked up while the program goes on.
#include <dlfcn.h>
#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "tests/abi/cm_fixture.h"
#include "tests/abi/later_calls.h"
#include "tests/support/fork_at_rest.h"

namespace {

constexpr const char* kSlow = "slow.test";

/// Where look-ups of kSlow wait.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    ++left_;
    changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void close() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return came_ == left_; });
    open_ = false;
    came_ = left_ = 0;
  }
  bool comes(int threads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return came_ >= threads; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int came_ = 0, left_ = 0;
};
Gate gate;

}  // namespace

/// The libraries call this one instead of the C library's: one host has an answer when the tests say so.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node, const char* service,
                                                                  const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool look_up = hints == nullptr || (hints->ai_flags & AI_NUMERICHOST) == 0;
  if (look_up && node != nullptr && std::strcmp(node, kSlow) == 0) {
    gate.wait();
    node = "127.0.0.1";
  }
  return real(node, service, hints, found);
}

namespace softrnic::abi_test {
namespace {

class CmAddressInfos : public CmTest {
 protected:
  void SetUp() override {
    CmTest::SetUp();
    gate.close();
    client = make_id(client_channel.get());
  }
  void TearDown() override { gate.open(); }

  int ask(const char* node, const char* service = "7471", const rdma_addrinfo* hints = nullptr) {
    return later::resolve_addrinfo(client.get(), node, service, hints);
  }
  static void expect_told(const CmChannelPtr& channel, std::uint32_t type, int status = 0) {
    rdma_cm_event* event = nullptr;
    ASSERT_TRUE(readable(channel->fd, kPatienceMs));
    ASSERT_EQ(rdma_get_cm_event(channel.get(), &event), 0) << std::strerror(errno);
    EXPECT_EQ(later::type_of(*event), type);
    EXPECT_EQ(event->status, status);
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
  }
  CmAddressInfoPtr take() {
    rdma_addrinfo* info = nullptr;
    EXPECT_EQ(later::query_addrinfo(client.get(), &info), 0) << std::strerror(errno);
    return CmAddressInfoPtr(info);
  }
  void expect_nothing_to_take() {
    rdma_addrinfo* info = nullptr;
    EXPECT_REFUSED(later::query_addrinfo(client.get(), &info), ENOENT);
  }
  static void expect_loopback(const CmAddressInfoPtr& info) {
    ASSERT_NE(info, nullptr);
    ASSERT_EQ(info->ai_dst_len, sizeof(sockaddr_in));
    const auto& to = reinterpret_cast<const sockaddr_in&>(*info->ai_dst_addr);
    EXPECT_EQ(to.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    EXPECT_EQ(to.sin_port, htons(7471));
  }
};

TEST_F(CmAddressInfos, OfNumbersAreThereAtOnceAndTakenOnce) {
  expect_nothing_to_take();
  ASSERT_EQ(ask("127.0.0.1"), 0) << std::strerror(errno);
  EXPECT_TRUE(readable(client_channel->fd, 0));
  expect_told(client_channel, later::kAddrinfoResolved);
  EXPECT_REFUSED(ask("127.0.0.1"), EBUSY);  // the result was not taken
  const CmAddressInfoPtr info = take();
  expect_loopback(info);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_RC);
  expect_nothing_to_take();
  EXPECT_EQ(ask("127.0.0.1"), 0) << "again";
}

TEST_F(CmAddressInfos, OfNamesDoNotHoldUpTheProgram) {
  auto source = std::make_unique<sockaddr_storage>(address_of("127.0.0.1", htons(5)));
  auto hints = std::make_unique<rdma_addrinfo>();
  hints->ai_flags = later::kDns;
  hints->ai_port_space = RDMA_PS_UDP;
  hints->ai_src_addr = generic(*source);
  hints->ai_src_len = sizeof(sockaddr_in);
  auto node = std::make_unique<std::string>(kSlow), service = std::make_unique<std::string>("7471");
  ASSERT_EQ(ask(node->c_str(), service->c_str(), hints.get()), 0) << std::strerror(errno);
  ASSERT_TRUE(gate.comes(1));
  std::memset(source.get(), 0xee, sizeof *source);
  source.reset();
  hints.reset();
  node.reset();
  service.reset();
  EXPECT_FALSE(readable(client_channel->fd, 0));
  expect_nothing_to_take();
  EXPECT_REFUSED(ask("127.0.0.1"), EBUSY);
  gate.open();
  expect_told(client_channel, later::kAddrinfoResolved);
  const CmAddressInfoPtr info = take();
  expect_loopback(info);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_UD);
  EXPECT_EQ(info->ai_port_space, RDMA_PS_UDP);
  ASSERT_EQ(info->ai_src_len, sizeof(sockaddr_in));
  EXPECT_EQ(reinterpret_cast<sockaddr_in*>(info->ai_src_addr)->sin_port, htons(5));
}

TEST_F(CmAddressInfos, ThatAreNotFoundAreToldByTheStatus) {
  ASSERT_EQ(ask("127.0.0.1", "no-such-service"), 0) << "the failure is an event";
  ASSERT_TRUE(readable(client_channel->fd, kPatienceMs));
  EXPECT_REFUSED(ask("127.0.0.1"), EBUSY);  // nobody has heard of the failure
  expect_told(client_channel, later::kAddrinfoError, -ENOENT);
  expect_nothing_to_take();
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NUMERICHOST;
  ASSERT_EQ(ask("not.an.address", "1", &hints), 0);
  expect_told(client_channel, later::kAddrinfoError, -ENOENT);
  ASSERT_EQ(ask("127.0.0.1"), 0);
  expect_told(client_channel, later::kAddrinfoResolved);
  expect_loopback(take());
}

TEST_F(CmAddressInfos, OfHintsAreTheirCopy) {
  sockaddr_storage to = address_of("127.0.0.1", htons(7471));
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_dst_addr = generic(to);
  hints.ai_dst_len = sizeof(sockaddr_in);
  ASSERT_EQ(ask(nullptr, nullptr, &hints), 0);
  expect_told(client_channel, later::kAddrinfoResolved);
  expect_loopback(take());
}

TEST_F(CmAddressInfos, RefuseWhatCannotBeAsked) {
  rdma_addrinfo* info = nullptr;
  EXPECT_REFUSED(later::resolve_addrinfo(nullptr, "127.0.0.1", "1", nullptr), EINVAL);
  EXPECT_REFUSED(ask(nullptr, nullptr), EINVAL);
  EXPECT_REFUSED(later::query_addrinfo(nullptr, &info), EINVAL);
  EXPECT_REFUSED(later::query_addrinfo(client.get(), nullptr), EINVAL);
  rdma_addrinfo hints{};
  hints.ai_flags = later::kSa;
  EXPECT_REFUSED(ask("127.0.0.1", "1", &hints), EOPNOTSUPP);  // a subnet administrator knows no nodes
  EXPECT_REFUSED(ask(nullptr, nullptr, &hints), EINVAL);
  EXPECT_REFUSED(ask(nullptr, "service", &hints), EINVAL);  // not bound
  sockaddr_storage address = address_of("127.0.0.1");
  ASSERT_EQ(rdma_bind_addr(client.get(), generic(address)), 0);
  EXPECT_REFUSED(ask(nullptr, "service", &hints), EOPNOTSUPP);  // RoCE
  hints.ai_flags = later::kSa | later::kDns;
  EXPECT_REFUSED(ask(nullptr, "service", &hints), EOPNOTSUPP);
  EXPECT_FALSE(readable(client_channel->fd, 0));
  EXPECT_EQ(ask("127.0.0.1"), 0) << "nothing of that was under way";
}

TEST_F(CmAddressInfos, OfADestroyedIdAreForgotten) {
  ASSERT_EQ(ask(kSlow), 0);
  ASSERT_TRUE(gate.comes(1));
  client.reset();                          // does not wait for the answer
  client = make_id(client_channel.get());  // likely where the other was
  gate.open();
  EXPECT_FALSE(readable(client_channel->fd, 100));
  ASSERT_EQ(ask("127.0.0.1"), 0);
  expect_told(client_channel, later::kAddrinfoResolved);
}

TEST_F(CmAddressInfos, OutliveTheirChannel) {
  ASSERT_EQ(ask(kSlow), 0);
  ASSERT_TRUE(gate.comes(1));
  client_channel.reset();
  gate.open();
  gate.close();
  ASSERT_EQ(rdma_destroy_id(client.release()), 0);
}

TEST_F(CmAddressInfos, WaitForTheirAcknowledgement) {
  ASSERT_EQ(ask("127.0.0.1"), 0);
  rdma_cm_event* event = nullptr;
  ASSERT_EQ(rdma_get_cm_event(client_channel.get(), &event), 0);
  auto destroyed = std::async(std::launch::async, [id = client.release()] { return rdma_destroy_id(id); });
  EXPECT_EQ(destroyed.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(rdma_ack_cm_event(event), 0);
  EXPECT_EQ(destroyed.get(), 0);
}

TEST_F(CmAddressInfos, ComeWhereTheIdHasMovedTo) {
  ASSERT_EQ(ask(kSlow), 0);
  ASSERT_TRUE(gate.comes(1));
  ASSERT_EQ(rdma_migrate_id(client.get(), server_channel.get()), 0);
  gate.open();
  expect_told(server_channel, later::kAddrinfoResolved);
  expect_loopback(take());
  ASSERT_EQ(ask("127.0.0.1"), 0);
  ASSERT_EQ(rdma_migrate_id(client.get(), client_channel.get()), 0);
  expect_told(client_channel, later::kAddrinfoResolved);
  expect_loopback(take());
}

TEST_F(CmAddressInfos, ASynchronousIdWaitsForThem) {
  client = make_id(nullptr);
  gate.open();
  ASSERT_EQ(ask(kSlow), 0) << std::strerror(errno);
  ASSERT_NE(client->event, nullptr);
  EXPECT_EQ(later::type_of(*client->event), later::kAddrinfoResolved);
  expect_loopback(take());
  EXPECT_REFUSED(ask("127.0.0.1", "no-such-service"), ENOENT);
  EXPECT_EQ(ask("127.0.0.1"), 0);
}

TEST_F(CmAddressInfos, OfManyIdsAreLookedUpAtOnce) {
  constexpr int kIds = 20;
  std::vector<CmIdPtr> ids;
  for (int i = 0; i < kIds; ++i) {
    ids.push_back(make_id(client_channel.get()));
    ASSERT_EQ(later::resolve_addrinfo(ids.back().get(), kSlow, "7471", nullptr), 0) << std::strerror(errno);
  }
  EXPECT_TRUE(gate.comes(kIds));
  gate.open();
  for (int i = 0; i < kIds; ++i) expect_told(client_channel, later::kAddrinfoResolved);
  for (CmIdPtr& id : ids) {
    client.swap(id);
    expect_loopback(take());
  }
}

// Rule 18. The child has the request, and not the thread that works on it.
TEST_F(CmAddressInfos, AForkedChildAsksAnew) {
  ASSERT_EQ(ask(kSlow), 0);
  ASSERT_TRUE(gate.comes(1));
  const pid_t child = test::fork_at_rest();
  if (child == 0) {
    rdma_addrinfo* info = nullptr;
    if (ask("127.0.0.1") == 0 || errno != EPERM) _exit(1);
    if (later::query_addrinfo(client.get(), &info) == 0 || errno != EPERM) _exit(2);
    if (rdma_destroy_id(client.release()) != 0) _exit(3);
    const CmChannelPtr channel(rdma_create_event_channel());
    if (channel == nullptr) _exit(4);
    client = make_id(channel.get());
    if (ask("127.0.0.1", "no-such-service") != 0) _exit(5);
    expect_told(channel, later::kAddrinfoError, -ENOENT);
    client.reset();
    _exit(testing::Test::HasFailure() ? 6 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1, 2: the parent's id was used; 3: not destroyed; others: no own";
  gate.open();
  expect_told(client_channel, later::kAddrinfoResolved);
  expect_loopback(take());
}

}  // namespace
}  // namespace softrnic::abi_test
