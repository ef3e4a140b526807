// `softrnic run --iwarp`: several at once have one device between them.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

int run_iwarp() {
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string command =
      own.string() + "/../bin/softrnic run --iwarp --no-sysfs -- sh -c 'echo $SOFTRNIC_DEVICE'";
  std::FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return 1;
  std::array<char, 64> word{};
  const bool named =
      std::fgets(word.data(), word.size(), pipe) != nullptr && std::string(word.data()) == "iw0\n";
  return pclose(pipe) == 0 && named ? 0 : 2;
}

TEST_F(DaemonTest, ProgramsThatAskForIwarpAtOnceGetTheSameDevice) {
  const auto keeper = connect();
  ASSERT_TRUE(keeper->hold_devices());
  for (int round = 0; round < 5; ++round) {
    std::vector<pid_t> programs;
    for (int i = 0; i < 6; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(run_iwarp());
      programs.push_back(child);
    }
    for (const pid_t program : programs) {
      int status = -1;
      ASSERT_EQ(waitpid(program, &status, 0), program);
      EXPECT_EQ(status, 0) << "round " << round;
    }
    const auto devices = keeper->devices();
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->size(), 2U);
    ASSERT_TRUE(keeper->delete_link("iw0"));
  }
}

}  // namespace
}  // namespace softrnic::tests
