// Management datagrams from program to program by the RoCE device's QP1, which is its own peer here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/abi/umad_calls.h"
#include "tests/support/thread_state.h"

namespace softrnic::abi_test {
namespace {

constexpr int kPing = 0x32, kSa = 0x03, kGet = 0x01, kGetTable = 0x12, kMadBytes = 256;
constexpr int kSaHeaders = 56;

/// A buffer of umad with room for a message.
class Umad {
 public:
  explicit Umad(int bytes = kMadBytes) : bytes_(umad_size() + static_cast<std::size_t>(bytes)) {}
  void* get() { return bytes_.data(); }
  unsigned char* mad() { return static_cast<unsigned char*>(umad_get_mad(get())); }
  ib_user_mad& head() { return *reinterpret_cast<ib_user_mad*>(bytes_.data()); }
  std::uint64_t transaction() {
    std::uint64_t value;
    std::memcpy(&value, mad() + 8, sizeof value);
    return __builtin_bswap64(value);
  }
  void begin(int management_class, int version, int method, std::uint64_t transaction) {
    mad()[0] = 1;
    mad()[1] = static_cast<unsigned char>(management_class);
    mad()[2] = static_cast<unsigned char>(version);
    mad()[3] = static_cast<unsigned char>(method);
    transaction = __builtin_bswap64(transaction);
    std::memcpy(mad() + 8, &transaction, sizeof transaction);
    if (management_class != kPing) return;
    mad()[38] = 0x14;  // OpenIB's OUI, 0x001405
    mad()[39] = 0x05;
  }

 private:
  std::vector<unsigned char> bytes_;
};

class UmadTransfer : public testing::Test {
 protected:
  void SetUp() override {
    server = umad_open_port("soft0", 1);
    client = umad_open_port(nullptr, 0);
    ASSERT_GE(server, 0);
    ASSERT_GE(client, 0);
    umad_port port;
    ASSERT_EQ(umad_get_port("soft0", 1, &port), 0);
    lid = port.base_lid;
    umad_release_port(&port);
  }
  void TearDown() override {
    umad_close_port(server);
    umad_close_port(client);
  }
  static int add_agent(int port, int management_class, int method, int rmpp = 0) {
    long mask[2] = {};
    if (method != 0) mask[method / 64] = 1L << (method % 64);
    return umad_register(port, management_class, management_class == kSa ? 2 : 1,
                         static_cast<std::uint8_t>(rmpp), mask);
  }
  int send(int port, int agent, Umad& umad, int bytes = kMadBytes, int timeout_ms = 0) {
    umad_set_addr(umad.get(), static_cast<int>(lid), 1, 0, static_cast<int>(0x80010000));
    return umad_send(port, agent, umad.get(), bytes, timeout_ms, 0);
  }
  /// Turns a request that was received into its answer, for whom it came from.
  int answer(int agent, Umad& umad, int method, int bytes = kMadBytes) {
    umad.mad()[3] = static_cast<unsigned char>(method);
    return umad_send(server, agent, umad.get(), bytes, 0, 0);
  }

  int server = -1, client = -1;
  unsigned lid = 0;
};

TEST_F(UmadTransfer, APingAndItsPong) {
  const int serves = add_agent(server, kPing, kGet), asks = add_agent(client, kPing, 0);
  ASSERT_GE(serves, 0);
  ASSERT_GE(asks, 0);
  Umad out, in;
  out.begin(kPing, 1, kGet, 0x1122334455667788);
  ASSERT_EQ(send(client, asks, out, kMadBytes, 5000), 0);
  int length = kMadBytes;
  ASSERT_EQ(umad_recv(server, in.get(), &length, 5000), serves);
  EXPECT_EQ(length, kMadBytes);
  EXPECT_EQ(umad_status(in.get()), 0);
  EXPECT_EQ(in.head().length, 64U + kMadBytes);
  EXPECT_EQ(in.transaction() & UINT32_MAX, 0x55667788U);
  EXPECT_EQ(umad_get_mad_addr(in.get())->grh_present, 1);
  EXPECT_EQ(umad_get_mad_addr(in.get())->qpn, __builtin_bswap32(1));
  in.mad()[100] = 0xaa;
  ASSERT_EQ(answer(serves, in, 0x81), 0);
  ASSERT_EQ(umad_poll(client, 5000), 0);
  ASSERT_EQ(umad_recv(client, in.get(), &length, 5000), asks);
  EXPECT_EQ(in.mad()[100], 0xaa);
  EXPECT_EQ(in.mad()[3], 0x81);
}

TEST_F(UmadTransfer, WhoIsNotAnsweredGetsItsRequestBack) {
  const int asks = add_agent(client, kPing, 0);
  Umad umad;
  umad.begin(kPing, 1, 0x03, 1);  // Send, which Linux does not answer where nobody takes it
  ASSERT_EQ(send(client, asks, umad, kMadBytes, 30), 0);
  int length = kMadBytes;
  ASSERT_EQ(umad_recv(client, umad.get(), &length, 5000), asks);
  EXPECT_EQ(umad_status(umad.get()), ETIMEDOUT);
  EXPECT_EQ(length, 24);
}

TEST_F(UmadTransfer, WhatNobodyTakesIsAnsweredByThePort) {
  const int asks = add_agent(client, kPing, 0);
  Umad umad;
  umad.begin(kPing, 1, kGet, 1);
  ASSERT_EQ(send(client, asks, umad, kMadBytes, 5000), 0);
  int length = kMadBytes;
  ASSERT_EQ(umad_recv(client, umad.get(), &length, 5000), asks);
  EXPECT_EQ(umad_status(umad.get()), 0);
  EXPECT_EQ(umad.mad()[5], 0x0c) << "method and attribute are not supported";
}

TEST_F(UmadTransfer, NothingToReadIsToldAtOnceOrInTime) {
  Umad umad;
  int length = kMadBytes;
  EXPECT_EQ(umad_recv(client, umad.get(), &length, 0), -EAGAIN);
  length = kMadBytes;
  EXPECT_EQ(umad_recv(client, umad.get(), &length, 20), -ETIMEDOUT);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_EQ(length, kMadBytes);
  EXPECT_EQ(umad_poll(client, 0), -ETIMEDOUT);
  EXPECT_EQ(umad_recv(client, nullptr, &length, 0), -EINVAL);
  EXPECT_EQ(umad_recv(client, umad.get(), nullptr, 0), -EINVAL);
  EXPECT_EQ(umad_get_fd(client), client);
  EXPECT_NE(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(UmadTransfer, RefusalsAreLibibumads) {
  Umad umad;
  umad.begin(kPing, 1, kGet, 1);
  EXPECT_EQ(add_agent(client, 0x01, kGet), -EPERM) << "no QP0 on Ethernet";
  EXPECT_EQ(errno, EPROTONOSUPPORT);
  EXPECT_EQ(send(client, 0, umad), -EIO);
  EXPECT_EQ(errno, EIO);
  const int asks = add_agent(client, kPing, kGet);
  EXPECT_EQ(add_agent(server, kPing, kGet), -EPERM);
  EXPECT_EQ(errno, EINVAL);
  Umad without_address;
  without_address.begin(kPing, 1, kGet, 1);
  EXPECT_EQ(umad_send(client, asks, without_address.get(), kMadBytes, 0, 0), -EIO);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(send(client, asks, umad, 20), -EIO);
  EXPECT_EQ(umad_unregister(client, asks), 0);
  EXPECT_EQ(umad_unregister(client, asks), -1);
  EXPECT_EQ(errno, EINVAL);
  const int other = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(add_agent(other, kPing, kGet), -EPERM);
  EXPECT_EQ(umad_unregister(other, 0), -1);
  EXPECT_EQ(send(other, 0, umad), -EIO);
  close(other);
}

TEST_F(UmadTransfer, OuiAndAttributesOfARegistrationAreChecked) {
  std::uint8_t oui[3] = {0, 0x14, 0x05};
  EXPECT_EQ(umad_register_oui(client, 0x2f, 0, oui, nullptr), -EINVAL);
  EXPECT_GE(umad_register_oui(client, 0x30, 1, oui, nullptr), 0);
  umad_reg_attr attributes{};
  std::uint32_t agent = 99;
  EXPECT_EQ(umad_register2(client, nullptr, &agent), EINVAL);
  attributes.mgmt_class = kPing;
  attributes.mgmt_class_version = 1;
  EXPECT_EQ(umad_register2(client, &attributes, &agent), EINVAL) << "no OUI";
  attributes.oui = 0x001405;
  attributes.flags = 2;
  EXPECT_EQ(umad_register2(client, &attributes, &agent), EINVAL);
  EXPECT_EQ(attributes.flags, 0U);
  attributes.flags = 1;
  attributes.rmpp_version = 1;
  EXPECT_EQ(umad_register2(client, &attributes, &agent), 0);
  EXPECT_EQ(agent, 1U);
}

TEST_F(UmadTransfer, ClosingFreesWhatWasRegistered) {
  ASSERT_GE(add_agent(server, kPing, kGet), 0);
  EXPECT_EQ(add_agent(client, kPing, kGet), -EPERM);
  umad_close_port(server);
  EXPECT_GE(add_agent(client, kPing, kGet), 0);
  server = umad_open_port("soft0", 1);
}

TEST_F(UmadTransfer, ALongAnswerComesWhole) {
  constexpr int kBytes = 300'000;
  const int serves = add_agent(server, kSa, kGetTable, 1), asks = add_agent(client, kSa, 0, 1);
  Umad request, response(kBytes), got(kBytes);
  request.begin(kSa, 2, kGetTable, 5);
  ASSERT_EQ(send(client, asks, request, kMadBytes, 10'000), 0);
  int length = kMadBytes;
  ASSERT_EQ(umad_recv(server, response.get(), &length, 5000), serves);
  for (int i = kSaHeaders; i < kBytes; ++i) response.mad()[i] = static_cast<unsigned char>(i * 13);
  response.mad()[24] = 1;  // RMPP: version, DATA, Active
  response.mad()[25] = 1;
  response.mad()[26] = 1;
  response.mad()[3] = 0x92;
  ASSERT_EQ(umad_send(server, serves, response.get(), kBytes, 0, 3), 0);
  ASSERT_EQ(umad_poll(client, 20'000), 0);
  length = 100;
  EXPECT_EQ(umad_recv(client, got.get(), &length, 0), -EINVAL) << "no room for one segment";
  length = kMadBytes;
  EXPECT_EQ(umad_recv(client, got.get(), &length, 0), -ENOSPC);
  EXPECT_EQ(length, kBytes) << "so much is needed";
  ASSERT_EQ(umad_recv(client, got.get(), &length, 0), asks);
  EXPECT_EQ(length, kBytes);
  EXPECT_EQ(std::memcmp(got.mad() + kSaHeaders, response.mad() + kSaHeaders, kBytes - kSaHeaders), 0);
}

// opensm ends its receiver so.
TEST_F(UmadTransfer, AThreadThatWaitsCanBeCancelled) {
  struct Waiter {
    int port;
    Umad umad{};  // not of the thread, which nobody unwinds
    std::atomic<pid_t> thread{0};
  } waiter{client};
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    auto& waits = *static_cast<Waiter*>(argument);
    int length = kMadBytes;
    waits.thread = gettid();
    umad_recv(waits.port, waits.umad.get(), &length, -1);
    return argument;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, &waiter), 0);
  while (waiter.thread == 0 || test::state_of(waiter.thread) != 'S') std::this_thread::yield();
  ASSERT_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

TEST_F(UmadTransfer, ManyThreadsShareAPort) {
  constexpr int kThreads = 4, kEach = 50;
  const int serves = add_agent(server, kPing, kGet), asks = add_agent(client, kPing, 0);
  std::atomic<int> answered{0};
  std::thread responder([&] {
    Umad umad;
    for (int i = 0; i < kThreads * kEach; ++i) {
      int length = kMadBytes;
      if (umad_recv(server, umad.get(), &length, 10'000) != serves) return;
      answer(serves, umad, 0x81);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Umad umad;
        umad.begin(kPing, 1, kGet, static_cast<std::uint64_t>(t * kEach + i));
        if (send(client, asks, umad, kMadBytes, 10'000) != 0) return;
        int got = -EAGAIN;  // another thread was faster, as with the kernel's
        for (int length = kMadBytes; got == -EAGAIN; length = kMadBytes)
          got = umad_recv(client, umad.get(), &length, 10'000);
        if (got == asks && umad_status(umad.get()) == 0) ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  responder.join();
  EXPECT_EQ(answered, kThreads * kEach);
}

}  // namespace
}  // namespace softrnic::abi_test
