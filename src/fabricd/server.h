// The loop of a fabric's process: time, the sockets of hosts, and the commands of `softrnic fabric`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "daemon/event_loop.h"
#include "fabric/topology.h"
#include "fabricd/emulated_fabric.h"

namespace softrnic::fabricd {

class Server {
 public:
  Server() = default;
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Makes the fabric, and its folder in `folder`, which has no other of that name. A sentence.
  Expected<void, std::string> open(const std::string& folder, fabric::Topology topology,
                                   FabricOptions options);
  /// Until told to end, or SIGINT or SIGTERM. 0 or a positive errno.
  int run();

  // After open().
  const EmulatedFabric& fabric() const { return *fabric_; }
  const std::string& folder() const { return folder_; }

 private:
  Expected<void, std::string> open_folder(const std::string& folder, const std::string& name);
  bool watch();
  void accept();
  void answer(int client);

  daemon::EventLoop loop_;
  std::unique_ptr<EmulatedFabric> fabric_;
  std::string folder_;  ///< its own
  std::string commands_path_;
  UniqueFd commands_;
  UniqueFd signals_;
  std::map<int, UniqueFd> clients_;
  bool ending_ = false;
};

}  // namespace softrnic::fabricd
