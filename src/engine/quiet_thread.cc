#include "engine/quiet_thread.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>

namespace softrnic::engine {
namespace {

/// When there is none to be had it is not joinable, and errno says why.
std::thread start(const char* name, void (*body)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  int error = 0;
  try {
    thread = std::thread(body, argument);
    pthread_setname_np(thread.native_handle(), name);
  } catch (const std::system_error& failed) {
    error = failed.code().value();
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) errno = error;
  return thread;
}

}  // namespace

QuietThread::QuietThread(const char* name, void (*body)(void*), void* argument)
    : stop_fd_(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  if (stop_fd_) thread_ = start(name, body, argument);
  if (!thread_.joinable()) error_ = errno;
}

QuietThread::~QuietThread() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_fd_.get(), 1);
  thread_.join();
}

int run_aside(const char* name, void (*body)(void*), void* argument) {
  std::thread thread = start(name, body, argument);
  if (!thread.joinable()) return errno;
  thread.detach();
  return 0;
}

}  // namespace softrnic::engine
