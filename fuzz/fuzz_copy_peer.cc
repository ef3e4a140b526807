// Input: what a peer of softrnic cp says, from its greeting on: a server to the client, a client to the
// server, as sender or as receiver, by messages or by boards. Whatever it says, the side that listens comes
// to its end, and nothing has changed outside the directory that it may write to.
//
//   1 byte     which side listens, and what its user wants
//   4 bytes    flags of the job (of a client that listens)
//   the rest   what arrives (fuzz/scripted_verbs.h)
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "copy/client.h"
#include "copy/serve_files.h"
#include "copy/token.h"
#include "fuzz/scripted_verbs.h"

using namespace softrnic;
using namespace softrnic::copy;

namespace {

namespace fs = std::filesystem;

const std::string kToken = "a token of a fuzzer";

/// The first byte.
struct Chosen {
  std::uint8_t value;
  bool server() const { return (value & 1) != 0; }
  bool upload() const { return (value & 2) != 0; }
  bool within_host() const { return (value & 4) != 0; }
  bool greets_well() const { return (value & 0x18) != 0; }  ///< three times of four
  bool outside_links() const { return (value & 0x20) != 0; }
  bool new_name() const { return (value & 0x40) != 0; }
  std::uint32_t slots() const { return (value & 0x80) != 0 ? 32 : 2; }  ///< of the peer's ring
};

/// A folder of our own with a place to write to, one to read from, and something beside
/// them that stays as it is.
class Ground {
 public:
  Ground() {
    const fs::path memory = "/dev/shm";  // ten times as fast as a disk
    base_ = (access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path()) /
            ("softrnic-fuzz-" + std::to_string(getpid()));
    fs::create_directories(base_ / "beside");
    std::ofstream(base_ / "beside/mine") << "mine";
    fs::create_directories(base_ / "from/dir");
    std::ofstream(base_ / "from/a") << std::string(5000, 'a');
    std::ofstream(base_ / "from/dir/b") << "b";
    fs::create_symlink("a", base_ / "from/link");
    const rlimit most{1 << 20, 1 << 20};  // nobody's word makes large files here
    setrlimit(RLIMIT_FSIZE, &most);
    std::signal(SIGXFSZ, SIG_IGN);
  }
  ~Ground() { remove_tree(base_); }

  /// Peers make directories that their owner may not read either, unless that is root.
  static void remove_tree(const fs::path& folder) {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, ignored);
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.symlink_status(ignored).type() == fs::file_type::directory) remove_tree(entry.path());
    fs::remove_all(folder, ignored);
  }

  fs::path from() const { return base_ / "from"; }
  fs::path to() const { return base_ / "to"; }

  void begin() {
    remove_tree(to());
    fs::create_directories(to() / "old");
    std::ofstream(to() / "a") << "older";
    std::ofstream(to() / "old/kept") << "kept";
    fs::create_symlink("../beside", to() / "out");
    before_ = picture();
  }
  void check() const { FUZZ_CHECK(picture() == before_); }

 private:
  /// Of all that nobody may change: names, kinds, modes, sizes and times.
  std::map<std::string, std::string> picture() const {
    std::map<std::string, std::string> out;
    for (const char* const part : {"beside", "from"})
      for (const auto& one : fs::recursive_directory_iterator(base_ / part)) add(out, one.path());
    for (const auto& one : fs::directory_iterator(base_)) out[one.path()];
    return out;
  }
  static void add(std::map<std::string, std::string>& out, const fs::path& path) {
    struct stat info {};
    FUZZ_CHECK(lstat(path.c_str(), &info) == 0);
    out[path] = std::to_string(info.st_mode) + ' ' + std::to_string(info.st_size) + ' ' +
                std::to_string(info.st_mtim.tv_sec) + '.' + std::to_string(info.st_mtim.tv_nsec);
  }

  fs::path base_;
  std::map<std::string, std::string> before_;
};

/// The peer's own greeting: it knows the token.
class Greeting {
 public:
  explicit Greeting(const Chosen& chosen) : chosen_(chosen) {
    ring_ = Ring{0x10000, 1, kDataSlot, chosen.slots()};
    hello_.capabilities = kDirectChoice | kQueuePairs | (chosen.within_host() ? std::uint64_t{kBoards} : 0);
  }
  Message hello() const { return make_message(hello_); }

  /// Answers what this side says; false when the greeting is over.
  bool answer(fuzz::ScriptedVerbs& verbs, Bytes sent) {
    Proof proof;
    Welcome welcome;
    if (read_message(hello_, sent)) {
      challenge_.capabilities = hello_.capabilities;
      verbs.deliver(make_message(challenge_).view());
      return true;
    }
    if (read_message(challenge_, sent)) {
      proof.role = static_cast<std::uint8_t>(chosen_.upload() ? Role::upload : Role::download);
      proof.ring = ring_;
      proof.mac = prove(kToken, 'c', hello_, challenge_, proof.role, ring_, {});
      verbs.deliver(make_message_with(proof, QueuePairNames{}).view());
      return true;
    }
    if (read_message(proof, sent)) {
      welcome.ring = ring_;
      welcome.mac = prove(kToken, 's', hello_, challenge_, proof.role, ring_, {});
      verbs.ring_is(proof.ring, boards());
      verbs.deliver(make_message_with(welcome, QueuePairNames{}).view());
    } else if (read_message(welcome, sent)) {
      verbs.ring_is(welcome.ring, boards());
    }
    return false;
  }

 private:
  bool boards() const { return (challenge_.capabilities & kBoards) != 0; }

  Chosen chosen_;
  Ring ring_;
  Hello hello_;
  Challenge challenge_;
};

void serve(const Chosen& chosen, fuzz::ScriptedVerbs& verbs, const Message& hello, const Ground& ground) {
  const Deadline deadline = Clock::now() + std::chrono::seconds(60);
  EventChannelPtr events(rdma_create_event_channel());
  auto connection = Connection::accept(std::move(events), IdPtr(verbs.make_id()), -1, deadline);
  FUZZ_CHECK(connection);
  if (chosen.greets_well()) verbs.deliver(hello.view());
  OwnRing own;
  const auto greeted = greet_client(**connection, kToken, deadline, [&](Role role) -> Result<Ring> {
    auto ring = role == Role::upload ? make_ring(**connection, kMaxSlots, kDataSlot)
                                     : make_ring(**connection, kReplySlots, kReplySlot);
    FUZZ_CHECK(ring);
    own = std::move(*ring);
    return own.ring;
  });
  FUZZ_CHECK(greeted.has_value() == chosen.greets_well());
  if (!greeted) return turn_away(**connection, greeted.error().text, deadline);
  const bool upload = greeted->role == Role::upload;
  auto stream =
      Stream::make(std::move(*connection), std::move(own), *greeted, upload ? kReplySlot : kDataSlot);
  FUZZ_CHECK(stream);
  auto root = Tree::open(upload ? ground.to() : ground.from());
  FUZZ_CHECK(root);
  const ServedTree served{std::move(*root), chosen.outside_links()};
  Budget memory(1 << 20, "--client-memory");
  Observer nobody;
  static_cast<void>(serve_files(**stream, greeted->role, served, memory, nobody));
}

void ask(const Chosen& chosen, std::uint32_t flags, const Ground& ground) {
  CopyOptions options;
  options.host = "127.0.0.1";
  options.token = kToken;
  options.upload = chosen.upload();
  options.sources = {options.upload ? ground.from() : "a"};
  if (!options.upload) options.sources.emplace_back("dir/");
  options.destination = options.upload      ? "there"
                        : chosen.new_name() ? (ground.to() / "new").string()
                                            : ground.to().string();
  options.job.flags = flags & kKnownJobFlags & ~(kStream | kSyncFiles);
  options.filters.add({0, "x*"});
  options.memory = 1 << 20;
  options.outside_links = chosen.outside_links();
  Observer nobody;
  static_cast<void>(copy_files(options, nobody));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Ground ground;
  ground.begin();
  fuzz::Input input(data, size);
  const Chosen chosen{input.take<std::uint8_t>()};
  const auto flags = input.take<std::uint32_t>();
  fuzz::ScriptedVerbs verbs(input, chosen.within_host());
  Greeting greeting(chosen);
  if (chosen.greets_well())
    verbs.greet_with([&](fuzz::ScriptedVerbs& over, Bytes sent) { return greeting.answer(over, sent); });
  if (chosen.server())
    serve(chosen, verbs, greeting.hello(), ground);
  else
    ask(chosen, flags, ground);
  ground.check();
  return 0;
}
