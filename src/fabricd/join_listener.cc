#include "fabricd/join_listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/random_bytes.h"
#include "fabricd/tcp_address.h"

namespace softrnic::fabricd {
namespace {

void refuse(MessageStream& stream, std::string why) {
  stream.put(CableRefusal{std::move(why)});
  stream.flush();
}

}  // namespace

Expected<std::unique_ptr<JoinListener>, std::string> JoinListener::open(daemon::EventLoop& loop,
                                                                        FabricCables& cables,
                                                                        const std::string& address,
                                                                        std::uint16_t port,
                                                                        std::string token) {
  auto listener = listen_at(address, port);
  if (!listener) return Unexpected{listener.error()};
  std::unique_ptr<JoinListener> made(new JoinListener(loop, cables, std::move(*listener), std::move(token)));
  if (!made->acceptor_.begin()) return Unexpected{std::string("the listening socket cannot be watched")};
  return made;
}

JoinListener::JoinListener(daemon::EventLoop& loop, FabricCables& cables, UniqueFd listener,
                           std::string token)
    : loop_(loop),
      cables_(cables),
      listener_(std::move(listener)),
      token_(std::move(token)),
      acceptor_(
          loop, listener_.get(), [this](UniqueFd connection) { accepted(std::move(connection)); },
          [](const UniqueFd&) {}) {}

JoinListener::~JoinListener() {
  for (const auto& [fd, greeting] : greetings_) loop_.forget(fd);
}

void JoinListener::accepted(UniqueFd connection) {
  if (greetings_.size() >= kMostGreeting)
    drop(std::ranges::min_element(greetings_, {}, [](const auto& row) { return row.second.ends; })->first);
  CableNonce nonce;
  const int fd = connection.get();
  std::string peer = peer_of(fd);
  if (!fill_random(nonce) || !loop_.watch(fd, EPOLLIN, [this, fd] { readable(fd); })) return;
  auto stream = std::make_unique<MessageStream>(std::move(connection));
  stream->put(CableChallenge{kCableVersion, nonce});
  stream->flush();
  greetings_[fd] = {std::move(stream), nonce, std::move(peer), monotonic_now() + kGreeting};
}

void JoinListener::readable(int fd) {
  const auto found = greetings_.find(fd);
  if (found == greetings_.end()) return;
  const Greeting& greeting = found->second;
  const bool is_open = greeting.stream->receive();
  const auto bytes = greeting.stream->next();
  if (!bytes && is_open && !greeting.stream->is_malformed()) return;
  const auto message = bytes ? std::optional(parse_cable_message(*bytes)) : std::nullopt;
  const CableHello* const hello = message && *message ? std::get_if<CableHello>(&**message) : nullptr;
  if (hello == nullptr) return drop(fd);
  loop_.forget(fd);
  Greeting finished = std::move(found->second);
  greetings_.erase(found);
  answer(std::move(finished), *hello);
}

void JoinListener::answer(Greeting greeting, const CableHello& hello) {
  const Mac wanted = prove_cable_token(token_, 'j', greeting.nonce, hello.nonce, hello.index);
  if (!same_mac(hello.proof, wanted))
    return refuse(*greeting.stream, "the token is not the one of this fabric");
  const std::size_t place = place_for(hello.index);
  if (place == cables_.all().size())
    return refuse(*greeting.stream,
                  hello.index != 0 ? "another fabric has its place" : "all spare ports have their cable");
  const auto index = static_cast<std::uint8_t>(place + 1);
  greeting.stream->put(
      CableWelcome{index, prove_cable_token(token_, 'l', greeting.nonce, hello.nonce, index)});
  cables_.all()[place]->connect(std::move(greeting.stream), std::move(greeting.peer), monotonic_now());
}

// A place that another fabric had before is given away last: it may come again.
std::size_t JoinListener::place_for(std::uint8_t wanted) const {
  const auto& all = cables_.all();
  if (wanted != 0)
    return wanted <= all.size() && !all[wanted - 1U]->is_connected() ? wanted - 1U : all.size();
  const auto is_new = [](const auto& cable) { return cable->peer().empty(); };
  const auto is_free = [](const auto& cable) { return !cable->is_connected(); };
  const auto fresh = std::ranges::find_if(all, is_new);
  const auto found = fresh != all.end() ? fresh : std::ranges::find_if(all, is_free);
  return static_cast<std::size_t>(found - all.begin());
}

void JoinListener::drop(int fd) {
  loop_.forget(fd);
  greetings_.erase(fd);
}

TimePoint JoinListener::deadline() const {
  TimePoint due = acceptor_.deadline();
  for (const auto& [fd, greeting] : greetings_) due = std::min(due, greeting.ends);
  return due;
}

void JoinListener::advance(TimePoint now) {
  acceptor_.advance(now);
  for (auto it = greetings_.begin(); it != greetings_.end();) {
    const auto [fd, ends] = std::pair(it->first, it->second.ends);
    ++it;
    if (ends <= now) drop(fd);
  }
}

}  // namespace softrnic::fabricd
