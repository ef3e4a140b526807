// A malicious server that a client downloads from, and a malicious client that uploads: both know the token
// and speak the protocol well.
#pragma once

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/unique_fd.h"
#include "copy/client.h"
#include "copy/server.h"
#include "tests/copy/speech.h"

namespace softrnic::copy {

namespace fs = std::filesystem;
using testing::HasSubstr;

inline const std::string kToken = "a token of the tests";

/// Takes one client, lets it say what it wants, and then says `speech`.
class HostileServer {
 public:
  HostileServer() {
    auto listener = Listener::open("127.0.0.1", 0);
    EXPECT_TRUE(listener) << listener.error().text;
    if (listener) listener_ = std::move(*listener);
  }
  ~HostileServer() {
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return listener_.port(); }
  void answer_with(Speech speech) {
    thread_ = std::thread([this, said = std::move(speech)] { serve(said); });
  }

 private:
  void serve(const Speech& speech) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(20);
    std::optional<Listener::Request> request;
    while (!request && Clock::now() < deadline) {
      pollfd one{listener_.fd(), POLLIN, 0};
      if (poll(&one, 1, 1000) <= 0) continue;
      if (auto next = listener_.next()) request = std::move(*next);
    }
    ASSERT_TRUE(request);
    auto connection = Connection::accept(std::move(request->events), std::move(request->id), -1, deadline);
    ASSERT_TRUE(connection) << connection.error().text;
    OwnRing own;
    const auto greeted = greet_client(**connection, kToken, deadline, [&](Role) -> Result<Ring> {
      auto ring = make_ring(**connection, kReplySlots, kReplySlot);
      if (!ring) return Unexpected{ring.error()};
      own = std::move(*ring);
      return own.ring;
    });
    ASSERT_TRUE(greeted) << greeted.error().text;
    const auto stream = Stream::make(std::move(*connection), std::move(own), *greeted, kDataSlot);
    ASSERT_TRUE(stream) << stream.error().text;
    while (!has_begun(**stream)) continue;
    if (speech.say(**stream)) (*stream)->connection().linger(deadline);
  }

  static bool has_begun(Stream& stream) {
    const auto frame = stream.next();
    if (!frame) return true;
    Records records(*frame);
    RecordView record;
    bool begun = false;
    while (records.next(record)) begun = begun || record.type == RecordType::begin;
    stream.release();
    return begun;
  }

  Listener listener_;
  std::thread thread_;
};

class HostilePeerTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(home());
    write(home() / ".bashrc", "mine");
    fs::create_directories(folder_ / "outside");
    write(folder_ / "outside/secret", "secret");
  }
  void TearDown() override {
    stop_server();
    fs::remove_all(folder_);
  }

  fs::path home() const { return folder_ / "home"; }
  fs::path root() const { return folder_ / "root"; }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string content(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  /// All there is in `folder`: names, kinds, modes, contents.
  static std::map<std::string, std::string> picture(const fs::path& folder) {
    std::map<std::string, std::string> out;
    const auto kind = [](const fs::path& path) {
      const fs::file_status status = fs::symlink_status(path);
      const std::string mode = std::to_string(static_cast<unsigned>(status.permissions()));
      if (fs::is_symlink(status)) return "-> " + fs::read_symlink(path).string();
      return fs::is_directory(status) ? mode + " directory" : mode + " " + content(path);
    };
    for (const auto& one : fs::recursive_directory_iterator(folder))
      out[one.path().string()] = kind(one.path());
    return out;
  }

  CopyOptions download(std::vector<std::string> sources, std::uint32_t flags = 0) const {
    CopyOptions out;
    out.host = "127.0.0.1";
    out.token = kToken;
    out.upload = false;
    out.sources = std::move(sources);
    out.destination = home();
    out.job.flags = flags;
    return out;
  }

  /// What comes of it when the server answers with `speech`.
  static Result<Finished> ask(CopyOptions wanted, Speech speech) {
    HostileServer server;
    wanted.port = server.port();
    server.answer_with(std::move(speech));
    Observer nobody;
    return copy_files(wanted, nobody);
  }

  /// Nothing may change, and the user hears why.
  void expect_refused(const CopyOptions& wanted, Speech speech, const std::string& why) {
    const auto before = picture(folder_);
    const auto done = ask(wanted, std::move(speech));
    ASSERT_FALSE(done) << "the copy counts as done";
    EXPECT_EQ(done.error().trouble, Trouble::protocol);
    EXPECT_THAT(done.error().text, HasSubstr(why));
    EXPECT_EQ(picture(folder_), before);
  }

  void start_server(std::function<void(ServerOptions&)> change = {}) {
    fs::create_directories(root());
    stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ServerOptions options;
    options.address = "127.0.0.1";
    options.port = 0;
    options.token = kToken;
    options.root = root();
    options.stop_fd = stop_.get();
    options.log = [](const std::string&) {};
    if (change) change(options);
    auto server = Server::open(options);
    ASSERT_TRUE(server) << server.error().text;
    server_ = std::move(*server);
    serving_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  void stop_server() {
    if (!serving_.joinable()) return;
    eventfd_write(stop_.get(), 1);
    serving_.join();
    server_.reset();
  }

  /// What the server answers an upload with, in the end.
  struct Verdict {
    std::string refusal;  ///< empty: it went along
    std::vector<std::string> failures;
    Finished finished;
  };
  Verdict upload(std::uint32_t flags, const Speech& speech, const std::string& destination = "",
                 const Speech& order = {}) {
    Verdict out;
    const Deadline deadline = Clock::now() + std::chrono::seconds(20);
    auto connection = Connection::dial("127.0.0.1", server_->port(), -1, deadline);
    if (!connection) return {connection.error().text, {}, {}};
    auto own = make_ring(**connection, kReplySlots, kReplySlot);
    const auto peer = greet_server(**connection, kToken, {Role::upload, own->ring, 0}, deadline);
    if (!peer) return {peer.error().text, {}, {}};
    const auto stream = Stream::make(std::move(*connection), std::move(*own), *peer, kDataSlot);
    bool over = false;
    (*stream)->consume_with([&](Bytes frame) -> Result<void> {
      over = read_answers(frame, out) || over;
      return out.refusal.empty() ? Result<void>{} : fail(Trouble::refused, out.refusal);
    });
    Job job;
    job.flags = flags;
    job.destination = destination;
    auto said = (*stream)->put(job);
    if (said) said = order.say(**stream);
    if (said) said = (*stream)->put(Begin{});
    if (said) said = (*stream)->flush();  // a job ends its frame
    if (said) said = speech.say(**stream);
    while (said && !over) said = (*stream)->wait(deadline);
    if (!said) out.refusal = said.error().text;
    (*stream)->connection().disconnect();
    return out;
  }

  static bool read_answers(Bytes frame, Verdict& out) {
    bool over = false;
    Records records(frame);
    RecordView record;
    while (records.next(record)) {
      Aborted aborted;
      Failed failed;
      if (record.type == RecordType::aborted && decode(aborted, record.body)) out.refusal = aborted.text;
      if (record.type == RecordType::failed && decode(failed, record.body))
        out.failures.push_back(
            failed.path + ": " +
            (failed.text.empty() ? std::strerror(static_cast<int>(failed.error)) : failed.text));
      if (record.type == RecordType::finished) decode(out.finished, record.body);
      over = over || record.type == RecordType::aborted || record.type == RecordType::finished;
    }
    return over;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("softrnic-hostile-" + std::to_string(getpid()));
  UniqueFd stop_;
  std::unique_ptr<Server> server_;
  std::thread serving_;
};

}  // namespace softrnic::copy
