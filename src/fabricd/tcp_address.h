// TCP addresses of fabric processes, as people write and read them.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::fabricd {

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// All that a name or number stands for; waits for the resolver. A sentence: nothing.
Expected<std::vector<TcpAddress>, std::string> resolve(const std::string& host, std::uint16_t port);
/// Listens there, without blocking. A sentence.
Expected<UniqueFd, std::string> listen_at(const std::string& host, std::uint16_t port);
/// Begins to connect, without blocking. A positive errno.
Expected<UniqueFd, int> begin_to_connect(const TcpAddress& address);
/// The other end of a connection: "192.0.2.7:18874"; "?" where there is none.
std::string peer_of(int socket);

}  // namespace softrnic::fabricd
