// A server and many clients in one process, each in a thread of its own: what sanitizers
// can see of the file server.
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/unique_fd.h"
#include "copy/client.h"
#include "copy/ping.h"
#include "copy/server.h"

namespace softrnic::copy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHost = "127.0.0.1";
const std::string kToken = "a token of the tests";

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void run_threads(unsigned count, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

class TogetherTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root());
    fs::create_directories(home());
    stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ServerOptions options;
    options.port = 0;
    options.token = kToken;
    options.root = root();
    options.stop_fd = stop_.get();
    options.log = [this](const std::string&) { ++lines_; };
    auto server = Server::open(options);
    ASSERT_TRUE(server) << server.error().text;
    server_ = std::move(*server);
    serving_ = std::thread([this] { ran_ = server_->run(); });
  }

  void TearDown() override {
    end_serving();
    fs::remove_all(folder_);
  }

  /// Every session has come to its end afterwards, and said so.
  void end_serving() {
    if (!serving_.joinable()) return;
    eventfd_write(stop_.get(), 1);
    serving_.join();
    server_.reset();
    EXPECT_TRUE(ran_) << ran_.error().text;
  }

  std::string root() const { return folder_ + "/root"; }
  std::string home() const { return folder_ + "/home"; }

  CopyOptions options(bool upload, const std::string& from, const std::string& to) const {
    CopyOptions out;
    out.host = kHost;
    out.port = server_->port();
    out.token = kToken;
    out.upload = upload;
    out.sources = {from};
    out.destination = to;
    return out;
  }

  static void expect_copied(const CopyOptions& wanted) {
    Observer nobody;
    const auto done = copy_files(wanted, nobody);
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_EQ(done->files, 1U);
    EXPECT_EQ(done->failures, 0U);
  }

  std::string folder_ = testing::TempDir() + "softrnic-together-" + std::to_string(getpid());
  UniqueFd stop_;
  std::atomic<unsigned> lines_{0};
  std::unique_ptr<Server> server_;
  std::thread serving_;
  Result<void> ran_ = {};
};

TEST_F(TogetherTest, UploadsDownloadsAndPingsAtOnce) {
  constexpr unsigned kClients = 6;  // with 1 to 3 queue pairs each
  constexpr std::size_t kBytes = 3'000'001;
  run_threads(kClients, [this](unsigned self) {
    const std::string name = "file" + std::to_string(self);
    std::string text(kBytes, static_cast<char>('a' + self));
    text[self * 1000] = '!';
    std::ofstream(home() + "/" + name, std::ios::binary) << text;
    CopyOptions up = options(true, home() + "/" + name, name);
    CopyOptions down = options(false, name, home() + "/back" + std::to_string(self));
    up.queue_pairs = down.queue_pairs = 1 + self % 3;
    expect_copied(up);
    expect_copied(down);
    EXPECT_TRUE(content(root() + "/" + name) == text);
    EXPECT_TRUE(content(home() + "/back" + std::to_string(self)) == text);
    PingOptions ping_options;
    ping_options.host = kHost;
    ping_options.port = server_->port();
    ping_options.token = kToken;
    ping_options.count = 20;
    ping_options.interval = {};
    const auto pinged = ping(ping_options, [](const PingSample&) {});
    ASSERT_TRUE(pinged) << pinged.error().text;
    EXPECT_EQ(pinged->samples.size(), 20U);
  });
  end_serving();
  EXPECT_GE(lines_, 2 * kClients) << "a line for each copy";
}

TEST_F(TogetherTest, StrangersAreTurnedAwayWhileOthersCopy) {
  std::ofstream(home() + "/file", std::ios::binary) << std::string(1'000'000, 'x');
  run_threads(6, [this](unsigned self) {
    CopyOptions wanted = options(true, home() + "/file", "copy" + std::to_string(self));
    if (self % 2 == 0) return expect_copied(wanted);
    wanted.token = "some other token";
    Observer nobody;
    const auto done = copy_files(wanted, nobody);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().trouble, Trouble::refused) << done.error().text;
  });
  EXPECT_EQ(std::distance(fs::directory_iterator(root()), {}), 3);
}

TEST_F(TogetherTest, WhoIsStoppedLeavesNothingAndDisturbsNobody) {
  std::ofstream(home() + "/file", std::ios::binary) << std::string(8'000'000, 'x');
  run_threads(4, [this](unsigned self) {
    CopyOptions wanted = options(true, home() + "/file", "copy" + std::to_string(self));
    if (self % 2 == 0) return expect_copied(wanted);
    const UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    wanted.stop_fd = stop.get();
    wanted.job.bytes_per_second = 1'000'000;  // so that it is still at it
    struct Stopper : Observer {
      int fd = -1;
      void moved(std::uint64_t) override { eventfd_write(fd, 1); }
    } stopper;
    stopper.fd = stop.get();
    const auto done = copy_files(wanted, stopper);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().trouble, Trouble::interrupted) << done.error().text;
  });
  eventfd_write(stop_.get(), 1);
  serving_.join();
  server_.reset();  // waits for the sessions
  EXPECT_EQ(std::distance(fs::directory_iterator(root()), {}), 2);
}

}  // namespace
}  // namespace softrnic::copy
