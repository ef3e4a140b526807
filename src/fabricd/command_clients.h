// Those who tell the fabric something: one command a connection (control/fabric_commands.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/acceptor.h"
#include "daemon/event_loop.h"

namespace softrnic::fabricd {

class CommandClients {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr Duration kPatience = std::chrono::seconds(5);  ///< from the connection to the command
  /// What a command answers, or the sentence that says why it cannot be done.
  using Perform = std::function<Expected<std::string, std::string>(std::string_view line)>;

  /// `listener` is bound and listens; it stays the caller's. `loop` outlives this object.
  CommandClients(daemon::EventLoop& loop, int listener, Perform perform);
  ~CommandClients();
  CommandClients(const CommandClients&) = delete;
  CommandClients& operator=(const CommandClients&) = delete;

  /// Takes commands from now on. False, with errno: it cannot be waited for them.
  bool begin() { return acceptor_.begin(); }
  std::size_t size() const { return clients_.size(); }

  /// Of the longest wait for a command, too.
  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  struct Client {
    UniqueFd socket;
    TimePoint ends;
  };

  void accepted(UniqueFd socket);
  void read(int client);
  void drop(int client);

  daemon::EventLoop& loop_;
  Perform perform_;
  std::map<int, Client> clients_;
  daemon::Acceptor acceptor_;
};

}  // namespace softrnic::fabricd
