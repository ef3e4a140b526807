// A client that connects to a server, says nothing, and waits for the server to lose patience: mute HOST PORT
#include <rdma/rdma_cma.h>

#include <cstdio>

#include "copy/connection.h"

using namespace softrnic::copy;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto port = static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10));
  const auto connection = Connection::dial(argv[1], port, -1, Clock::now() + std::chrono::seconds(10));
  if (!connection) {
    std::fprintf(stderr, "%s\n", connection.error().text.c_str());
    return 1;
  }
  std::printf("connected\n");
  std::fflush(stdout);
  const Deadline end = Clock::now() + std::chrono::seconds(15);
  while (Clock::now() < end) {
    if (!(*connection)->step(end)) return 0;  // it was closed
    while ((*connection)->take()) continue;
  }
  std::fprintf(stderr, "the server waits for ever\n");
  return 1;
}
