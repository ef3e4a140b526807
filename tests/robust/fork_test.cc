// fork, system and popen, before the device is opened and while packets fly.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "side.h"
#include "workers.h"

namespace softrnic::robust {
namespace {

/// What a child does with a device of its own. 0: all was well.
int use_own_device() {
  Couple couple;
  if (!couple.open()) return 1;
  for (std::uint32_t number = 0; number < 20; ++number)
    if (couple.talk(number) != 0) return 2;
  return couple.close() ? 0 : 3;
}

std::string output_of(const char* command) {
  std::FILE* const pipe = popen(command, "r");
  if (pipe == nullptr) return "popen failed";
  char line[64] = {};
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  return pclose(pipe) == 0 && read ? line : "the command failed";
}

void expect_programs_start() {
  EXPECT_EQ(std::system("exit 3"), 3 << 8);
  EXPECT_EQ(output_of("echo here"), "here\n");
  EXPECT_EQ(in_child([] { return execl("/bin/sh", "sh", "-c", "exit 5", nullptr); }), 5);
}

/// As often as that, while another thread of this process does it all the time. 0: all was well.
void expect_children_do_the_same(const std::function<int()>& what, unsigned rounds) {
  std::atomic<bool> ending{false};
  std::thread meanwhile([&] {
    while (!ending) EXPECT_EQ(what(), 0);
  });
  for (unsigned round = 0; round < rounds; ++round) EXPECT_EQ(in_child(what), 0) << round;
  ending = true;
  meanwhile.join();
}

/// A connection of this process over which messages go all the time.
class Traffic {
 public:
  Traffic() : open_(couple_.open()), thread_([this] { run(); }) {}
  ~Traffic() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  Couple& couple() { return couple_; }
  void expect_more() {
    const std::uint32_t before = messages_;
    while (messages_ < before + 10 && result_ == 0) std::this_thread::yield();
    EXPECT_EQ(result_, 0) << "after " << messages_ << " messages";
  }

 private:
  void run() {
    while (open_ && !ending_ && result_ == 0) {
      result_ = couple_.talk(messages_);
      ++messages_;
    }
    if (!open_) result_ = -2;
  }

  Couple couple_;
  const bool open_;
  std::atomic<std::uint32_t> messages_{0};
  std::atomic<int> result_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

TEST(Fork, ProgramsStartBeforeTheDeviceIsOpenedAndWhileMessagesGo) {
  expect_programs_start();
  Traffic traffic;
  for (unsigned round = 0; round < 30; ++round) {
    expect_programs_start();
    EXPECT_EQ(in_child([] { return 4; }), 4);
  }
  traffic.expect_more();
}

TEST(Fork, AChildFromBeforeTheOpenHasADeviceOfItsOwn) {
  const pid_t child = start_child(use_own_device);
  EXPECT_EQ(use_own_device(), 0);
  EXPECT_EQ(end_of(child), 0);
}

TEST(Fork, ChildrenAndTheirsOpenDevicesWhileMessagesGo) {
  Traffic traffic;
  for (unsigned round = 0; round < 5; ++round) {
    const pid_t nephew = start_child(use_own_device);
    EXPECT_EQ(in_child([] {
                if (const int failed = use_own_device()) return failed;
                Couple kept;
                if (!kept.open()) return 4;
                if (in_child(use_own_device) != 0) return 5;
                return kept.talk(0);
              }),
              0);
    EXPECT_EQ(end_of(nephew), 0);
    traffic.expect_more();
  }
}

TEST(Fork, AChildThatRunsItsExitHandlersHarmsNobody) {
  Traffic traffic;
  for (unsigned round = 0; round < 5; ++round) {
    EXPECT_EQ(in_child([]() -> int {
                std::fflush(nullptr);
                std::exit(use_own_device());
              }),
              0);
  }
  traffic.expect_more();
}

TEST(Fork, AChildDestroysWhatItsParentUsesAtThatMoment) {
  Traffic traffic;
  for (unsigned round = 0; round < 60; ++round) {
    EXPECT_EQ(in_child([&] { return traffic.couple().close() ? use_own_device() : 6; }), 0);
  }
  traffic.expect_more();
}

// Each call of the other thread takes a lock that lanes and their queue pairs do not share.
TEST(Fork, AChildCanUseQueuesThatAnotherThreadUsesAtThatMoment) {
  Couple couple;
  ASSERT_TRUE(couple.open());
  ibv_srq_init_attr wanted{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
  const std::unique_ptr<ibv_srq, int (*)(ibv_srq*)> srq(ibv_create_srq(couple.a.pd, &wanted),
                                                        ibv_destroy_srq);
  ASSERT_NE(srq, nullptr);
  const auto use = [&]() -> int {
    ibv_srq_attr attributes;
    return ibv_req_notify_cq(couple.a.cq, 0) == 0 && ibv_query_srq(srq.get(), &attributes) == 0 ? 0 : 1;
  };
  expect_children_do_the_same(use, 100);
}

TEST(Fork, WhileAnotherThreadOpensAndCloses) { expect_children_do_the_same(use_own_device, 20); }

}  // namespace
}  // namespace softrnic::robust
