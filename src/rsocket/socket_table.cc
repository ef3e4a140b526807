#include "rsocket/socket_table.h"

#include <array>
#include <unordered_map>

#include "base/quick_mutex.h"

namespace softrnic::rsocket {
namespace {

struct Shard {
  QuickMutex mutex;
  std::unordered_map<int, SocketPtr> sockets;
};

constexpr std::size_t kShards = 64;

Shard& shard_of(int fd) {
  static auto& shards =
      *new std::array<Shard, kShards>;  // lives on: threads may be in it when the process ends
  return shards[static_cast<unsigned>(fd) % kShards];
}

}  // namespace

SocketPtr find_socket(int fd) {
  Shard& shard = shard_of(fd);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.sockets.find(fd);
  return found == shard.sockets.end() ? nullptr : found->second;
}

void enter_socket(const SocketPtr& socket) {
  Shard& shard = shard_of(socket->fd());
  const std::lock_guard lock(shard.mutex);
  shard.sockets[socket->fd()] = socket;
}

SocketPtr leave_socket(int fd) {
  Shard& shard = shard_of(fd);
  const std::lock_guard lock(shard.mutex);
  const auto node = shard.sockets.extract(fd);
  return node.empty() ? nullptr : node.mapped();
}

}  // namespace softrnic::rsocket
