// The memory of another process, and how it is told from that of a process with the same number.
#include "samehost/remote_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace softrnic::samehost {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

/// A process with a cookie and a buffer of its own at the same address as this process's.
class LocalPeer {
 public:
  explicit LocalPeer(std::vector<std::uint8_t>& buffer) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) live(ends[1], buffer);
    close(ends[1]);
    socket_ = ends[0];
    EXPECT_EQ(read(socket_, &cookie, sizeof cookie), static_cast<ssize_t>(sizeof cookie));
  }
  ~LocalPeer() { end(); }
  LocalPeer(const LocalPeer&) = delete;
  LocalPeer& operator=(const LocalPeer&) = delete;

  /// The sum of the bytes of its buffer.
  std::uint64_t sum() const {
    char ask = 's';
    std::uint64_t answer = 0;
    EXPECT_EQ(write(socket_, &ask, 1), 1);
    EXPECT_EQ(read(socket_, &answer, sizeof answer), static_cast<ssize_t>(sizeof answer));
    return answer;
  }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(socket_);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }
  CookieAddress cookie;

 private:
  [[noreturn]] static void live(int socket, const std::vector<std::uint8_t>& buffer) {
    auto own = Cookie::open();
    const CookieAddress address = own ? own->address() : CookieAddress{};
    bool good = write(socket, &address, sizeof address) == static_cast<ssize_t>(sizeof address);
    for (char ask; good && read(socket, &ask, 1) == 1;) {
      std::uint64_t sum = 0;
      for (const std::uint8_t byte : buffer) sum += byte;
      good = write(socket, &sum, sizeof sum) == static_cast<ssize_t>(sizeof sum);
    }
    _exit(0);
  }
  pid_t pid_ = 0;
  int socket_ = -1;
};

std::uint64_t address_of(const std::vector<std::uint8_t>& buffer) {
  return reinterpret_cast<std::uint64_t>(buffer.data());
}

TEST(RemoteMemory, WritesAndReadsPiecesOfEverySize) {
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer local_peer(buffer);
  const auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote) << std::strerror(remote.error());
  std::vector<std::uint8_t> ones(kBufferBytes, 1), back(kBufferBytes);
  std::uint64_t written = 0;
  for (const std::size_t size : {1UL, 7UL, 8UL, 63UL, 64UL, 4096UL, 4097UL, 65536UL, 300'001UL}) {
    const iovec from{ones.data(), size};
    ASSERT_TRUE(remote->write({&from, 1}, address_of(buffer) + written, size)) << size;
    written += size;
    EXPECT_EQ(local_peer.sum(), written) << size;
    std::fill(back.begin(), back.end(), std::uint8_t{0});
    const iovec to{back.data(), size};
    ASSERT_TRUE(remote->read({&to, 1}, address_of(buffer) + written - size, size));
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(size), ones.begin()))
        << size;
  }
  EXPECT_EQ(buffer, std::vector<std::uint8_t>(kBufferBytes)) << "this process's own buffer was written";
}

// Behind it by less than 64 bytes, counted within a page: by a buffer in between, several times its size.
TEST(RemoteMemory, CopiesWhereTheKernelWouldCrawl) {
  std::vector<std::uint8_t> buffer(kBufferBytes), data(kBufferBytes), back(kBufferBytes);
  LocalPeer local_peer(buffer);
  const auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 13 + i / 251);
  const auto offset_to = [](const std::vector<std::uint8_t>& of, std::uint64_t as) {
    return (as - address_of(of)) % 4096;
  };
  for (const std::size_t size : {2048UL, 65'536UL, 65'537UL, 300'001UL}) {
    const std::uint64_t there = address_of(buffer) + 100;
    const iovec from{&data[offset_to(data, there - 16)], size};
    ASSERT_TRUE(remote->write({&from, 1}, there, size)) << size;
    const iovec to{&back[offset_to(back, there + 40)], size};
    ASSERT_TRUE(remote->read({&to, 1}, there, size)) << size;
    EXPECT_EQ(std::memcmp(to.iov_base, from.iov_base, size), 0) << size;
    std::memset(to.iov_base, 0, size);
    ASSERT_TRUE(remote->fetch(static_cast<std::byte*>(to.iov_base), there, size)) << size;
    EXPECT_EQ(std::memcmp(to.iov_base, from.iov_base, size), 0) << size;
  }
}

TEST(RemoteMemory, GathersAndScatters) {
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer local_peer(buffer);
  const auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote);
  std::array<std::uint8_t, 10> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, back{};
  const iovec from[] = {{data.data(), 3}, {data.data() + 3, 7}};
  ASSERT_TRUE(remote->write(from, address_of(buffer) + 5, 10));
  const iovec to[] = {{back.data(), 9}, {back.data() + 9, 1}};
  ASSERT_TRUE(remote->read(to, address_of(buffer) + 5, 10));
  EXPECT_EQ(back, data);
}

TEST(RemoteMemory, AHoleEndsTheCopy) {
  void* const page = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(static_cast<char*>(page) + 4096, 4096, PROT_NONE);
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer local_peer(buffer);
  const auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote);
  const iovec local{buffer.data(), 8192};
  EXPECT_FALSE(remote->write({&local, 1}, reinterpret_cast<std::uint64_t>(page), 8192));
  EXPECT_FALSE(remote->read({&local, 1}, reinterpret_cast<std::uint64_t>(page), 8192));
  munmap(page, 8192);
}

// A process that got the number of another: here it is simply another, reached with the first one's cookie.
TEST(RemoteMemory, AProcessWithoutTheGateIsNotTouched) {
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer first(buffer), second(buffer);
  if (first.cookie.address == second.cookie.address)
    GTEST_SKIP() << "a sanitizer chooses where things are mapped";
  const auto wrong = RemoteMemory::open(second.pid(), first.cookie);
  ASSERT_FALSE(wrong);
  CookieAddress guessed = second.cookie;
  guessed.secret ^= 1;
  EXPECT_FALSE(RemoteMemory::open(second.pid(), guessed));
  EXPECT_EQ(second.sum(), 0U);
}

TEST(RemoteMemory, AForkedChildHasNoGate) {
  auto cookie = Cookie::open();
  ASSERT_TRUE(cookie);
  EXPECT_TRUE(RemoteMemory::open(getpid(), cookie->address()));
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer child(buffer);
  EXPECT_FALSE(RemoteMemory::open(child.pid(), cookie->address()));
}

TEST(RemoteMemory, TheDeadHaveNone) {
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer local_peer(buffer);
  const auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote);
  local_peer.end();
  std::uint8_t bytes[100] = {};
  for (const std::size_t size : {8UL, 100UL}) {
    const iovec local{bytes, size};
    EXPECT_FALSE(remote->write({&local, 1}, address_of(buffer), size));
    EXPECT_FALSE(remote->read({&local, 1}, address_of(buffer), size));
  }
}

TEST(RemoteMemory, ReadsWithoutTheGateWhileTheLifeIsHeld) {
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer local_peer(buffer);
  auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote);
  RobustMutex life;
  life.init();
  remote->set_life(life);
  std::vector<std::uint8_t> ones(kBufferBytes, 1);
  const iovec from{ones.data(), kBufferBytes};
  ASSERT_TRUE(remote->write({&from, 1}, address_of(buffer), kBufferBytes));
  for (const bool held : {false, true}) {
    if (held) life.lock();
    for (const std::size_t size : {1UL, 8UL, 4097UL, 300'001UL}) {
      std::vector<std::uint8_t> back(size);
      const iovec to{back.data(), size};
      EXPECT_TRUE(remote->read({&to, 1}, address_of(buffer), size));
      EXPECT_EQ(back, std::vector<std::uint8_t>(size, 1)) << size;
      back.assign(size, 0);
      EXPECT_TRUE(remote->fetch(reinterpret_cast<std::byte*>(back.data()), address_of(buffer), size));
      EXPECT_EQ(back, std::vector<std::uint8_t>(size, 1)) << size;
    }
  }
  life.unlock();
}

// Whose life ends in the middle of the call: here the call itself takes the holder's number out.
TEST(RemoteMemory, WhatWasReadOfSomebodyWhoIsGoneIsNotBelieved) {
  std::vector<std::uint8_t> buffer(kBufferBytes);
  LocalPeer local_peer(buffer);
  auto remote = RemoteMemory::open(local_peer.pid(), local_peer.cookie);
  ASSERT_TRUE(remote);
  struct {
    RobustMutex life;
    std::array<std::byte, 8192> behind;
  } place;
  place.life.init();
  remote->set_life(place.life);
  const auto make_alive = [&] { *reinterpret_cast<std::uint32_t*>(&place.life) = 1; };
  make_alive();
  ASSERT_TRUE(place.life.is_held());
  const iovec to{&place, sizeof place};
  EXPECT_FALSE(remote->read({&to, 1}, address_of(buffer), sizeof place));
  ASSERT_FALSE(place.life.is_held());
  make_alive();
  place.behind.back() = std::byte{7};
  EXPECT_FALSE(remote->fetch(reinterpret_cast<std::byte*>(&place), address_of(buffer), sizeof place));
  EXPECT_EQ(place.behind.back(), std::byte{7}) << "the last byte must not appear";
}

TEST(RemoteMemory, OwnMemoryMayOverlap) {
  std::array<std::uint8_t, 8> data{1, 2, 3, 4, 5, 6, 7, 8};
  const iovec local{data.data(), 7};
  EXPECT_TRUE(RemoteMemory::own().write({&local, 1}, reinterpret_cast<std::uint64_t>(data.data() + 1), 7));
  EXPECT_EQ(data, (std::array<std::uint8_t, 8>{1, 1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace softrnic::samehost
