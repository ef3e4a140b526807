#include "fabricd/server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "control/error.h"
#include "fabricd/commands.h"
#include "fabricd/emulated_fabric.h"

namespace softrnic::fabricd {
namespace {

std::string sentence_of(const Failure& failure) { return control::make_error(failure).text; }

}  // namespace

Server::Server() = default;
Server::~Server() = default;

Expected<void, std::string> Server::open(const std::string& folder, fabric::Topology topology,
                                         FabricOptions options) {
  if (const int error = loop_.open()) return Unexpected{std::string(std::strerror(error))};
  const std::string name = options.name;
  auto made = EmulatedFabric::make(loop_, std::move(topology), std::move(options));
  if (!made) return Unexpected{made.error()};
  fabric_ = std::move(*made);
  loop_.woken = [this] { fabric_->keep_time(monotonic_now()); };
  if (auto opened = open_folder(folder, name); !opened) return opened;
  return fabric_->listen(folder);
}

Expected<void, std::string> Server::open_folder(const std::string& folder, const std::string& name) {
  auto claimed = control::FabricFolder::claim(folder, name);
  if (!claimed && claimed.error().error == EADDRINUSE)
    return Unexpected{"a fabric of the name " + name + " is up already"};
  if (!claimed) return Unexpected{sentence_of(claimed.error())};
  folder_ = std::move(*claimed);
  auto listener = control::PathListener::open(control::command_socket(folder, name));
  if (!listener) return Unexpected{sentence_of(listener.error())};
  listener_ = std::move(*listener);
  commands_ = std::make_unique<CommandClients>(loop_, listener_.fd(),
                                               [this](std::string_view line) { return perform(line); });
  return {};
}

bool Server::watch() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  return signals_ && loop_.watch(signals_.get(), EPOLLIN, [this] { ending_ = true; }) && commands_->begin();
}

Expected<std::string, std::string> Server::perform(std::string_view line) {
  if (line == "down") ending_ = true;
  if (ending_) return std::string("{}");
  return fabricd::perform(*fabric_, line);
}

int Server::run() {
  if (!watch()) return errno;
  while (!ending_) {
    if (const int error = loop_.wait(deadline())) return error;
    advance(monotonic_now());
  }
  fabric_->take_leave();
  return 0;
}

Expected<void, std::string> Server::take_joiners(const std::string& address, std::uint16_t port,
                                                 std::string token) {
  auto joiners = JoinListener::open(loop_, fabric_->cables(), address, port, std::move(token));
  if (!joiners) return Unexpected{joiners.error()};
  joiners_ = std::move(*joiners);
  return {};
}

void Server::join(std::unique_ptr<Joiner> joiner) {
  joiner_ = std::move(joiner);
  joiner_->keep(loop_, *fabric_->cables().all().front());
}

TimePoint Server::deadline() const {
  TimePoint due = std::min(fabric_->deadline(), commands_->deadline());
  if (joiners_ != nullptr) due = std::min(due, joiners_->deadline());
  return joiner_ != nullptr ? std::min(due, joiner_->deadline()) : due;
}

void Server::advance(TimePoint now) {
  if (commands_->deadline() <= now) commands_->advance(now);
  if (joiners_ != nullptr) joiners_->advance(now);
  if (joiner_ != nullptr) joiner_->advance(now);
  fabric_->advance(now);
}

}  // namespace softrnic::fabricd
