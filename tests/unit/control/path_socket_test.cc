#include "control/path_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/unit/control/own_folder.h"

namespace softrnic::control {
namespace {

class PathSocketTest : public OwnFolderTest {
 protected:
  int error_of(const std::string& path) {
    const auto listener = PathListener::open(path);
    return listener ? 0 : listener.error().error;
  }
  bool exists() const { return access(path_.c_str(), F_OK) == 0; }
  /// As of a process that was killed, or has not called listen() yet.
  UniqueFd bound() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  const std::string path_ = folder_ + "/socket";
};

TEST_F(PathSocketTest, IsReachedWhileItListens) {
  EXPECT_EQ(reach_path(path_).error().error, ECONNREFUSED);
  {
    const auto listener = PathListener::open(path_);
    ASSERT_TRUE(listener);
    EXPECT_TRUE(reach_path(path_));
  }
  EXPECT_FALSE(exists());
}

TEST_F(PathSocketTest, WhoListensStays) {
  const auto listener = PathListener::open(path_);
  ASSERT_TRUE(listener);
  EXPECT_EQ(error_of(path_), EADDRINUSE);
  EXPECT_TRUE(reach_path(path_));
}

TEST_F(PathSocketTest, WhatAKilledProcessLeftIsReplaced) {
  bound().reset();
  ASSERT_TRUE(exists());
  const auto listener = PathListener::open(path_);
  ASSERT_TRUE(listener);
  EXPECT_TRUE(reach_path(path_));
}

TEST_F(PathSocketTest, AnotherFileStays) {
  std::ofstream(path_) << "a user's text";
  EXPECT_EQ(error_of(path_), ENOTSOCK);
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "a user's text");
}

// To find that out takes a descriptor.
TEST_F(PathSocketTest, WhoCannotBeAskedStays) {
  const auto listener = PathListener::open(path_);
  ASSERT_TRUE(listener);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd last(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const rlimit one_more{static_cast<rlim_t>(last.get()) + 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  const int error = error_of(path_);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(error, 0);
  EXPECT_TRUE(reach_path(path_));
}

TEST_F(PathSocketTest, AnotherOneAtItsPathIsNotRemovedAtTheEnd) {
  UniqueFd other;
  {
    const auto listener = PathListener::open(path_);
    ASSERT_TRUE(listener);
    ASSERT_EQ(unlink(path_.c_str()), 0);
    other = bound();
  }
  EXPECT_TRUE(exists());
}

TEST_F(PathSocketTest, TooLongAPathIsTold) {
  EXPECT_EQ(error_of(folder_ + "/" + std::string(120, 'x')), ENAMETOOLONG);
}

}  // namespace
}  // namespace softrnic::control
