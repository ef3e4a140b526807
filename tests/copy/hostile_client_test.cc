// A malicious client keeps to its job and to the served directory; and what either side makes the other hold
// has an end.
#include "copy/journal.h"
#include "tests/copy/hostile_peer.h"

namespace softrnic::copy {
namespace {

// ---- a malicious client

TEST_F(HostilePeerTest, AClientKeepsToItsJob) {
  start_server();
  const auto before = picture(folder_);
  EXPECT_THAT(upload(0, Speech().directory("d").end()).refusal, HasSubstr("-r"));
  EXPECT_THAT(upload(kRecursive, Speech().symlink("l", "x").end()).refusal, HasSubstr("-a"));
  EXPECT_THAT(upload(kRecursive, Speech().file("d/x", "evil").end()).refusal, HasSubstr("d/x"));
  EXPECT_THAT(upload(kRecursive, Speech().file("../x", "evil").end()).refusal, HasSubstr("../x"));
  EXPECT_THAT(upload(kRecursive | kDelete, Speech().listing("", "").end()).refusal, HasSubstr("listing"));
  EXPECT_THAT(upload(kUpdate, Speech().file("x", "evil").end()).refusal, HasSubstr("x"));
  EXPECT_THAT(upload(0, Speech().file("x", "evil", kContinued).end()).refusal, HasSubstr("resume"));
  EXPECT_EQ(picture(folder_), before);
}

TEST_F(HostilePeerTest, AClientsLinksStayInside) {
  start_server();
  const std::uint32_t flags = kRecursive | kPreserve;
  const auto out = Speech().directory("d").symlink("d/door", "../../outside").end();
  auto verdict = upload(flags, out);
  EXPECT_EQ(verdict.refusal, "");
  EXPECT_EQ(verdict.finished.failures, 1U);
  ASSERT_EQ(verdict.failures.size(), 1U);
  EXPECT_THAT(verdict.failures[0], HasSubstr("--outside-links"));
  EXPECT_FALSE(fs::is_symlink(root() / "d/door"));
  stop_server();
  start_server([](ServerOptions& options) { options.outside_links = true; });
  EXPECT_EQ(upload(flags, out).finished.failures, 0U);
  EXPECT_TRUE(fs::is_symlink(root() / "d/door"));
  // and nothing goes through it
  EXPECT_NE(upload(0, Speech().file("x", "evil").end(), "d/door/x").refusal, "");
  EXPECT_EQ(upload(kRecursive, Speech().directory("d").directory("d/door").file("d/door/x", "evil").end())
                .finished.failures,
            2U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "outside"), {}), 1);
}

TEST_F(HostilePeerTest, APartThatIsAnothersIsNotGoneOnWith) {
  start_server();
  // a neighbour of the served directory has put a second name of a file where the part would be
  write(root() / ".bashrc", "of the server");
  fs::create_hard_link(root() / ".bashrc", root() / part_name("x"));
  const UniqueFd directory(open(root().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_TRUE(Journal().open(directory.get(), "x", {4, 0, 0, 4}));
  Speech speech;
  Offer offer;
  offer.number = 1;
  offer.size = 4;
  offer.path = "x";
  upload(kResume, speech.add(offer).file("x", "evil", kContinued).end());
  EXPECT_EQ(content(root() / ".bashrc"), "of the server");
}

// ---- what a peer makes the other side hold

/// Bytes that this process has more than when this was made, at the most.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << 5;
    begin_ = read("VmRSS:");
  }
  std::uint64_t grown() const { return read("VmHWM:") - begin_; }

 private:
  static std::uint64_t read(const std::string& what) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
      if (std::uint64_t kib = 0; word == what && status >> kib) return kib << 10;
    return 0;
  }
  std::uint64_t begin_ = 0;
};

constexpr std::uint64_t kMemory = 16U << 20;
/// Rings and places of frames at both ends, and what the allocator keeps. A sanitizer keeps what was freed,
/// and more beside what is used: there the resident memory says nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kFixedMemory = 64ULL << 30;
#else
constexpr std::uint64_t kFixedMemory = 80ULL << 20;
#endif
// Of 16 KiB: 256 MiB of names, and as much again for their containers
constexpr std::uint64_t kListings = 16'000;

Listing endless_listing(std::uint64_t number) {
  std::string names;
  for (int i = 0; i < 64; ++i)
    names += std::to_string(number) + "." + std::to_string(i) + std::string(240, 'x') + '\0';
  return {0, "d", names};
}

TEST_F(HostilePeerTest, ListingsOfAClientStayWithinItsBudget) {
  start_server([](ServerOptions& options) { options.client_memory = kMemory; });
  const PeakMemory memory;
  const auto verdict =
      upload(kRecursive | kDelete, Speech().directory("d").each<Listing>(kListings, endless_listing).end());
  EXPECT_THAT(verdict.refusal, HasSubstr("16384 KiB (--client-memory)"));
  EXPECT_LT(memory.grown(), kMemory + kFixedMemory);
}

TEST_F(HostilePeerTest, ListingsOfAServerStayWithinTheClientsBudget) {
  CopyOptions wanted = download({"d"}, kRecursive | kDelete);
  wanted.memory = kMemory;
  const PeakMemory memory;
  const auto done = ask(wanted, Speech().directory("d").each<Listing>(kListings, endless_listing).end());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("16384 KiB (--memory)"));
  EXPECT_LT(memory.grown(), kMemory + kFixedMemory);
}

TEST_F(HostilePeerTest, AnOrderStaysWithinItsBudget) {
  start_server([](ServerOptions& options) { options.memory = kMemory; });
  const auto order =
      Speech().each<Source>(9'999, [](std::uint64_t) { return Source{std::string(30'000, 'x')}; });
  const PeakMemory memory;
  EXPECT_THAT(upload(0, Speech().end(), "", order).refusal, HasSubstr("16384 KiB (--memory)"));
  EXPECT_LT(memory.grown(), kMemory + kFixedMemory);
}

TEST_F(HostilePeerTest, ADirectoryThatIsTooLargeToBeHeldIsRefused) {
  start_server([](ServerOptions& options) { options.client_memory = 64U << 10; });
  fs::create_directories(root() / "large");
  for (int i = 0; i < 1000; ++i) write(root() / "large" / std::to_string(i), "");
  CopyOptions wanted = download({"large"}, kRecursive);
  wanted.port = server_->port();
  Observer nobody;
  const auto done = copy_files(wanted, nobody);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().trouble, Trouble::refused);
  EXPECT_THAT(done.error().text, HasSubstr("64 KiB (--client-memory)"));
}

// ---- half-open connections

TEST_F(HostilePeerTest, ThoseThatProveNothingMakeRoomOldestFirst) {
  start_server([](ServerOptions& options) { options.max_half_open = options.max_clients = 2; });
  std::vector<ConnectionPtr> silent;
  for (int i = 0; i < 6; ++i) {
    auto connection =
        Connection::dial("127.0.0.1", server_->port(), -1, Clock::now() + std::chrono::seconds(5));
    ASSERT_TRUE(connection) << i << ": " << connection.error().text;
    silent.push_back(std::move(*connection));
  }
  write(root() / "report.txt", "figures");
  CopyOptions wanted = download({"report.txt"});
  wanted.port = server_->port();
  Observer nobody;
  const auto done = copy_files(wanted, nobody);
  ASSERT_TRUE(done) << done.error().text;
  // the oldest of those who said nothing are gone long before their time is over
  EXPECT_FALSE(silent.front()->step(Clock::now() + std::chrono::seconds(5)));
  silent.clear();
}

}  // namespace
}  // namespace softrnic::copy
