// Calls everything that a pure layer must not call, and some of what it may, for the test of the purity
// check.
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>

namespace softrnic::link {
int upwards();
}

namespace softrnic::offender {

long clocks() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_nsec + std::chrono::steady_clock::now().time_since_epoch().count();
}

int io(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  return (file != nullptr ? 1 : 0) + socket(AF_INET, SOCK_DGRAM, 0);
}

void* memory(std::size_t size) { return std::malloc(size); }

void threads(std::mutex& mutex) { mutex.lock(); }

int layers() { return link::upwards(); }

std::string allowed(const char* text) { return std::string(text) + std::string(std::strlen(text), 'x'); }

int* allocates() { return new int[10]; }

}  // namespace softrnic::offender
