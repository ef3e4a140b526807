// A test program that this is linked into runs in a network namespace of its own, where only the loopback is up: neither
// UDP port 4791 nor the daemon is shared with anybody. Where namespaces are off, it runs where it was started.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace {

void write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(!write(fd, text.data(), text.size()));
  close(fd);
}

bool enter_namespace() {
  const auto uid = std::to_string(getuid());
  const auto gid = std::to_string(getgid());
  if (unshare(CLONE_NEWNET) == 0) return true;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + uid + " 1");
  write_file("/proc/self/gid_map", "0 " + gid + " 1");
  return true;
}

void raise_loopback() {
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  EXPECT_EQ(ioctl(fd, SIOCSIFFLAGS, &request), 0);
  close(fd);
}

class PrivateNetwork : public testing::Environment {
 public:
  void SetUp() override {
    if (enter_namespace()) raise_loopback();
  }
};

const auto* const kPrivateNetwork = testing::AddGlobalTestEnvironment(new PrivateNetwork);

}  // namespace
