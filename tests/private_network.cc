// A test program that this is linked into runs in a network namespace of its own, where only the
// loopback is up: neither UDP port 4791 nor the daemon is shared with anybody. Where namespaces are off,
// it runs where it was started.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/namespaces.h"

namespace {

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
    if (softrnic::test::enter_network_namespace()) raise_loopback();
  }
};

const auto* const kPrivateNetwork = testing::AddGlobalTestEnvironment(new PrivateNetwork);

}  // namespace
