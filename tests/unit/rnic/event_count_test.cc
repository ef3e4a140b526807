// A queue of events and the fd that counts them, with threads on their way from one to the other.
#include "rnic/event_count.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "rnic/event_queue.h"

namespace softrnic::rnic::test {
namespace {

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

TEST(EventCount, WhatIsWithdrawnIsNotCounted) {
  EventCount count;
  count.add();
  count.add();
  count.withdraw(1);
  EXPECT_TRUE(is_readable(count.fd()));
  count.withdraw(1);
  EXPECT_FALSE(is_readable(count.fd()));
}

// Two threads: one has taken the count of an event, which the other withdraws.
TEST(EventCount, AThreadOnTheWayTakesTheNextEvent) {
  EventCount count;
  count.add();
  EXPECT_EQ(count.wait(), 0);
  count.withdraw(1);
  count.add();
  EXPECT_FALSE(is_readable(count.fd())) << "it is for the one that is on the way";
  count.add();
  EXPECT_TRUE(is_readable(count.fd())) << "that one has fetched one event";
  count.withdraw(1);
  EXPECT_FALSE(is_readable(count.fd()));
}

TEST(EventCount, AThreadThatFindsNoneHadTheCountOfAWithdrawnOne) {
  EventCount count;
  count.add();
  EXPECT_EQ(count.wait(), 0);
  count.withdraw(1);
  count.found_none();
  count.add();
  EXPECT_TRUE(is_readable(count.fd()));
}

// Where the queue is another process's, which adds by itself: it is heard of a withdrawal only later.
TEST(EventCount, IsToldLaterWhatWasWithdrawn) {
  EventCount count;
  count.add();
  EXPECT_EQ(count.wait(), 0);
  count.wake();  // an event behind the withdrawn one
  count.found_none(1);
  EXPECT_TRUE(is_readable(count.fd())) << "nothing of that event's count was taken";
  count.withdraw(0);
  EXPECT_TRUE(is_readable(count.fd()));
}

TEST(EventCount, AWakeIsNoEvent) {
  EventCount count;
  count.wake();
  EXPECT_EQ(count.wait(), 0);
  count.found_none();
  count.add();
  EXPECT_TRUE(is_readable(count.fd()));
  count.withdraw(1);
  EXPECT_FALSE(is_readable(count.fd()));
}

TEST(EventCount, StartsAnewWithAnotherQueue) {
  EventCount count;
  for (int i = 0; i < 3; ++i) count.add();
  count.restart(1);
  EXPECT_EQ(count.wait(), 0);
  EXPECT_FALSE(is_readable(count.fd()));
}

// Events come in some threads, are withdrawn in another, and fetched in two.
TEST(EventQueue, FdAndQueueAgreeWhateverThreadsDo) {
  constexpr int kEvents = 20000, kLast = -1;
  EventQueue<int> queue;
  std::mutex mutex;
  std::atomic<int> fetched{0};
  const auto put = [&](int event) {
    const std::lock_guard lock(mutex);
    queue.put(event);
  };
  const auto fetch = [&] {
    for (;;) {
      const auto event = queue.get(mutex, [](int) {});
      ASSERT_TRUE(event);
      if (*event == kLast) return;
      ++fetched;
    }
  };
  std::vector<std::thread> readers, writers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(fetch);
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < kEvents; ++i) {
        put(writer);
        if (writer == 0 || i % 3 != 0) continue;
        const std::lock_guard lock(mutex);
        queue.remove([](int event) { return event == 1; });
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (std::size_t i = 0; i < readers.size(); ++i) put(kLast);
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(fetched, kEvents) << "those of the first were not withdrawn";
  EXPECT_FALSE(is_readable(queue.fd()));
  ASSERT_EQ(fcntl(queue.fd(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(queue.get(mutex, [](int) {}).error(), EAGAIN);
}

}  // namespace
}  // namespace softrnic::rnic::test
