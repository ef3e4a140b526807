// The loop of a fabric's process: time, the sockets of hosts, and the commands of `softrnic fabric`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "control/fabric_folder.h"
#include "control/path_socket.h"
#include "daemon/event_loop.h"
#include "fabric/topology.h"
#include "fabricd/command_clients.h"
#include "fabricd/join_listener.h"
#include "fabricd/joiner.h"

namespace softrnic::fabricd {

class EmulatedFabric;
struct FabricOptions;

class Server {
 public:
  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Makes the fabric, and its folder in `folder`, which has no other of that name. A sentence.
  Expected<void, std::string> open(const std::string& folder, fabric::Topology topology,
                                   FabricOptions options);
  /// Others may join the fabric by its cables from now on. A sentence: it cannot listen there.
  Expected<void, std::string> take_joiners(const std::string& address, std::uint16_t port, std::string token);
  /// The fabric is the one that has joined, and its first cable the way.
  void join(std::unique_ptr<Joiner> joiner);
  /// Until told to end, or SIGINT or SIGTERM. 0 or a positive errno.
  int run();

  // After open().
  const EmulatedFabric& fabric() const { return *fabric_; }
  const std::string& folder() const { return folder_.path(); }

 private:
  Expected<void, std::string> open_folder(const std::string& folder, const std::string& name);
  bool watch();
  Expected<std::string, std::string> perform(std::string_view line);
  TimePoint deadline() const;
  void advance(TimePoint now);

  daemon::EventLoop loop_;
  control::FabricFolder folder_;  ///< its own; goes after the sockets in it
  control::PathListener listener_;
  std::unique_ptr<CommandClients> commands_;
  UniqueFd signals_;
  std::unique_ptr<EmulatedFabric> fabric_;
  std::unique_ptr<JoinListener> joiners_;
  std::unique_ptr<Joiner> joiner_;
  bool ending_ = false;
};

}  // namespace softrnic::fabricd
