#include "fabricd/command_clients.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/channel.h"
#include "control/fabric_commands.h"
#include "control/path_socket.h"
#include "tests/unit/control/own_folder.h"

namespace softrnic::fabricd {
namespace {

using namespace std::chrono_literals;

class CommandClientsTest : public control::OwnFolderTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(loop_.open(), 0);
    listener_ = std::move(*control::PathListener::open(folder_ + "/commands"));
    clients_.emplace(loop_, listener_.fd(), [](std::string_view line) -> Expected<std::string, std::string> {
      if (line == "wrong") return Unexpected{std::string("it is wrong")};
      return "did " + std::string(line);
    });
    ASSERT_TRUE(clients_->begin());
  }
  UniqueFd connect() { return std::move(*control::reach_path(folder_ + "/commands")); }
  void turns(int count = 3) {
    for (int i = 0; i < count; ++i) EXPECT_EQ(loop_.wait(TimePoint{}), 0);
  }
  static void tell(const UniqueFd& client, std::string_view line) {
    auto request = control::make_message<control::FabricCommand>(1);
    control::put_text(request.text, line);
    EXPECT_EQ(control::send_datagram(client.get(), control::bytes_of(request)), 0);
  }
  /// The text of the answer, or the sentence of a refusal; nothing: the connection has ended.
  static std::optional<std::string> answer_to(const UniqueFd& client) {
    std::vector<std::byte> bytes(control::kMaxMessage);
    control::Datagram datagram;
    const int error = control::receive_datagram(client.get(), bytes, datagram, MSG_DONTWAIT);
    if (error != 0 || datagram.size == 0) return std::nullopt;
    const Bytes reply = Bytes(bytes).first(datagram.size);
    if (const auto refused = control::parse_message<control::ErrorReply>(reply))
      return control::error_in(*refused).text;
    const auto answer = control::parse_message<control::FabricAnswer>(reply);
    std::string text(answer ? answer->size : 0, '\0');
    EXPECT_EQ(pread(datagram.fds[0].get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  daemon::EventLoop loop_;
  control::PathListener listener_;
  std::optional<CommandClients> clients_;
};

TEST_F(CommandClientsTest, OneCommandAConnection) {
  const UniqueFd client = connect();
  tell(client, "something");
  turns();
  EXPECT_EQ(answer_to(client), "did something");
  EXPECT_EQ(clients_->size(), 0U);
}

TEST_F(CommandClientsTest, ARefusalIsASentence) {
  const UniqueFd client = connect();
  tell(client, "wrong");
  turns();
  EXPECT_EQ(answer_to(client), "it is wrong");
}

TEST_F(CommandClientsTest, WhatIsNoCommandEndsTheConnection) {
  const UniqueFd client = connect();
  EXPECT_EQ(send(client.get(), "hello", 5, 0), 5);
  turns();
  EXPECT_EQ(clients_->size(), 0U);
  EXPECT_EQ(answer_to(client), std::nullopt);
}

TEST_F(CommandClientsTest, WhoSaysNothingIsNotKept) {
  const UniqueFd client = connect();
  turns();
  EXPECT_EQ(clients_->size(), 1U);
  const TimePoint due = clients_->deadline();
  EXPECT_LE(due, monotonic_now() + CommandClients::kPatience);
  clients_->advance(due - 1ns);
  EXPECT_EQ(clients_->size(), 1U);
  clients_->advance(due);
  EXPECT_EQ(clients_->size(), 0U);
  EXPECT_EQ(clients_->deadline(), kNever);
}

TEST_F(CommandClientsTest, WhoIsTooMuchIsTurnedAway) {
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i <= CommandClients::kMost; ++i) {
    clients.push_back(connect());
    turns(2);
  }
  EXPECT_EQ(clients_->size(), CommandClients::kMost);
  EXPECT_TRUE(answer_to(clients.back()));
  tell(clients.front(), "something");
  turns();
  EXPECT_EQ(answer_to(clients.front()), "did something");
}

}  // namespace
}  // namespace softrnic::fabricd
