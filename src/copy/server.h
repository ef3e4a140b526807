// softrnic serve: takes connections, lets in who knows the token, and gives each client a thread.
//
// The one place of this library that starts threads: sessions share nothing but the options and the
// descriptor of the root, and a session that waits for a disk or a slow peer holds up nobody else.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "copy/connection.h"
#include "copy/tree.h"

namespace softrnic::copy {

struct ServerOptions {
  std::string address;  ///< empty: all of the host
  std::uint16_t port = kDefaultPort;
  std::string token;
  std::string root;  ///< the directory that clients see; empty: pings alone
  bool read_only = false, write_only = false;
  bool outside_links = false;  ///< clients may leave symbolic links that lead out of what they upload
  bool once = false;           ///< end after one client that knew the token
  std::uint64_t client_memory = 128U << 20;  ///< bytes for the names that one client makes the server hold
  std::uint64_t memory = 512U << 20;         ///< and all of them together
  unsigned max_half_open = 64;  ///< connections that have not proved themselves: the oldest makes room
  unsigned max_clients = 16;    ///< at a time; each has up to 17 MiB of buffers
  Clock::duration greeting_time = std::chrono::seconds(10);  ///< for a client to prove itself
  int stop_fd = -1;
  std::function<void(const std::string&)>
      log;  ///< one line for each client and trouble; called by any thread
};

class Server {
 public:
  /// The server listens when this returns.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();
  std::uint16_t port() const;
  /// Until stopped, or the one client is gone: then its outcome.
  Result<void> run();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace softrnic::copy
