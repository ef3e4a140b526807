#include "fabricd/server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "control/channel.h"
#include "control/error.h"
#include "control/fabric_commands.h"
#include "control/fabric_folder.h"
#include "fabricd/commands.h"

namespace softrnic::fabricd {
namespace {

std::string sentence_of(const Failure& failure) { return control::make_error(failure).text; }

control::ErrorReply refusal(const std::string& sentence) {
  auto reply = control::make_message<control::ErrorReply>(1);
  reply.error = EINVAL;
  control::put_text(reply.text, sentence);
  return reply;
}

void send_text(int client, const std::string& text) {
  const auto descriptor = control::text_descriptor(text);
  if (!descriptor) {
    control::send_datagram(client, control::bytes_of(refusal(std::strerror(descriptor.error()))), -1,
                           MSG_DONTWAIT);
    return;
  }
  auto reply = control::make_message<control::FabricAnswer>(1);
  reply.size = text.size();
  control::send_datagram(client, control::bytes_of(reply), descriptor->get(), MSG_DONTWAIT);
}

}  // namespace

Server::~Server() {
  fabric_.reset();  // its hosts' sockets go before the folder
  if (commands_) unlink(commands_path_.c_str());
  if (!folder_.empty()) rmdir(folder_.c_str());
}

Expected<void, std::string> Server::open(const std::string& folder, fabric::Topology topology,
                                         FabricOptions options) {
  if (const int error = loop_.open()) return Unexpected{std::string(std::strerror(error))};
  const std::string name = options.name;
  auto made = EmulatedFabric::make(loop_, std::move(topology), std::move(options));
  if (!made) return Unexpected{made.error()};
  fabric_ = std::move(*made);
  if (auto opened = open_folder(folder, name); !opened) return opened;
  if (const auto listening = fabric_->listen(folder); !listening)
    return Unexpected{sentence_of(listening.error())};
  return {};
}

Expected<void, std::string> Server::open_folder(const std::string& folder, const std::string& name) {
  const std::string own = folder + "/" + name;
  if (mkdir(own.c_str(), 0700) != 0 && errno != EEXIST) return Unexpected{std::string(std::strerror(errno))};
  const std::string path = control::command_socket(folder, name);
  auto listener = control::listen_at(path);
  if (!listener && listener.error().error == EADDRINUSE)
    return Unexpected{"a fabric of the name " + name + " is up already"};
  if (!listener) return Unexpected{sentence_of(listener.error())};
  folder_ = own;
  commands_path_ = path;
  commands_ = std::move(*listener);
  return {};
}

bool Server::watch() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  return signals_ && loop_.watch(signals_.get(), EPOLLIN, [this] { ending_ = true; }) &&
         loop_.watch(commands_.get(), EPOLLIN, [this] { accept(); });
}

int Server::run() {
  if (!watch()) return errno;
  while (!ending_) {
    if (const int error = loop_.wait(fabric_->deadline())) return error;
    fabric_->advance(monotonic_now());
  }
  fabric_->take_leave();
  return 0;
}

void Server::accept() {
  UniqueFd client(accept4(commands_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const auto peer = client ? control::peer_credentials(client.get()) : std::nullopt;
  if (!peer || peer->uid != geteuid()) return;
  const int fd = client.get();
  if (loop_.watch(fd, EPOLLIN, [this, fd] { answer(fd); })) clients_[fd] = std::move(client);
}

// One command a connection.
void Server::answer(int client) {
  std::array<std::byte, sizeof(control::FabricCommand)> buffer;
  control::Datagram datagram;
  const int error = control::receive_datagram(client, buffer, datagram, MSG_DONTWAIT);
  if (error == EAGAIN) return;
  const auto request = control::parse_message<control::FabricCommand>(Bytes(buffer).first(datagram.size));
  const auto line = request ? control::text_in(request->text) : std::nullopt;
  if (error == 0 && line) {
    if (*line == "down") ending_ = true;
    const auto result = ending_ ? Expected<std::string, std::string>("{}") : perform(*fabric_, *line);
    if (result) {
      send_text(client, *result);
    } else {
      control::send_datagram(client, control::bytes_of(refusal(result.error())), -1, MSG_DONTWAIT);
    }
  }
  loop_.forget(client);
  clients_.erase(client);
}

}  // namespace softrnic::fabricd
