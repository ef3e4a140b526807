#include "cli/stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <initializer_list>

namespace softrnic::cli {
namespace {

int stop_fd = -1;
volatile std::sig_atomic_t caught = 0;

extern "C" void on_stop(int number) {
  caught = number;
  const std::uint64_t one = 1;
  static_cast<void>(!write(stop_fd, &one, sizeof one));
}

}  // namespace

int catch_stop_signals() {
  stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = on_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return stop_fd;
}

int stop_signal() { return caught; }

}  // namespace softrnic::cli
