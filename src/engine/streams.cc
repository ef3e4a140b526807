#include "engine/streams.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/attempt.h"
#include "base/reason_id.h"

namespace softrnic::engine {

/// A stream among the others, unless what follows fails.
class Streams::Entry {
 public:
  Entry(Map& all, std::unique_ptr<QpStream> stream) : all_(all) {
    rnic::StreamPort* const key = stream.get();
    place_ = all_.emplace(key, std::move(stream)).first;
  }
  ~Entry() {
    if (!kept_) all_.erase(place_);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  void keep() { kept_ = true; }

 private:
  Map& all_;
  Map::iterator place_;
  bool kept_ = false;
};

Streams::~Streams() {
  const int epoll = epoll_.load();
  if (epoll >= 0) close(epoll);
}

void Streams::set_options(const Options& options) {
  ends_ = options.ends;
  around_.tap = options.tap;
  around_.faults.reset();
  if (options.faults && options.faults->any_of_streams()) around_.faults.emplace(*options.faults);
}

Expected<void, Failure> Streams::make_room() {
  for (auto* const list : {&around_.ended, &around_.stalled, &around_.waiting})
    if (list->capacity() <= streams_.size()) list->reserve(2 * streams_.size() + 8);
  if (epoll_.load() >= 0) return {};
  if (staging_ == nullptr) staging_ = std::make_unique_for_overwrite<std::byte[]>(kStagingBytes);
  const int made = above_stdio(epoll_create1(EPOLL_CLOEXEC));
  if (made < 0) return Unexpected{refuse(errno, ReasonId::out_of_fds, errno)};
  around_.epoll = made;
  epoll_.store(made, std::memory_order_release);
  return {};
}

Expected<rnic::StreamPort*, Failure> Streams::add(rnic::QueuePair& qp, UniqueFd& socket,
                                                  const rnic::StreamStart& start) {
  // What may lack memory comes first: a socket that is taken must not lose its owner.
  if (auto ready = make_room(); !ready) return Unexpected{ready.error()};
  auto made = std::make_unique<QpStream>(qp, around_, start);
  QpStream* const stream = made.get();
  Entry entry(streams_, std::move(made));
  if (ends_ != nullptr) ends_->expect();
  int error = ENOMEM;
  if (!attempt([&] { error = stream->begin(socket, start); }) || error != 0) {
    if (ends_ != nullptr) ends_->unexpect();
    return Unexpected{
        refuse(error, error == ENOMEM ? ReasonId::out_of_memory : ReasonId::iwarp_bad_stream, error)};
  }
  entry.keep();
  if (stream->carries_messages()) carrying_messages_.fetch_add(1, std::memory_order_relaxed);
  return stream;
}

void Streams::remove(rnic::StreamPort& port) {
  const auto place = streams_.find(&port);
  place->second->end();
  if (likely_ == place->second.get()) likely_ = nullptr;
  if (around_.delays == place->second.get()) around_.delays = nullptr;
  if (place->second->carries_messages()) carrying_messages_.fetch_sub(1, std::memory_order_relaxed);
  std::erase(around_.stalled, place->second.get());
  std::erase(around_.waiting, place->second.get());
  tell_ends();
  streams_.erase(place);
}

void Streams::tell_ends() {
  for (const QpStream* stream : around_.ended)
    if (ends_ != nullptr) ends_->add(stream->token());
  around_.ended.clear();
}

std::size_t Streams::wait(std::span<epoll_event> events) const {
  const int epoll = epoll_.load(std::memory_order_relaxed);
  if (epoll < 0) return 0;
  const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 0);
  return static_cast<std::size_t>(std::max(count, 0));
}

// The one that answered last answers next, as a rule: a read tells as well as epoll, and is a call less.
QpStream* Streams::likely() {
  if (++guesses_ < kMostGuesses) return likely_;
  guesses_ = 0;
  return nullptr;
}

// epoll_wait(2) is a third of poll(2), but takes away what is told once (QpStream::watch()).
bool Streams::any_readable() const {
  epoll_event first;
  if (!any_waiting()) return epoll_wait(readable_fd(), &first, 1, 0) > 0;
  pollfd entry{readable_fd(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

// The instance is the parent's too: nothing is taken out of it.
void Streams::abandon() {
  for (const auto& [port, stream] : streams_) stream->abandon();
  around_.ended.clear();
  around_.stalled.clear();
  around_.waiting.clear();
  around_.delays = nullptr;
  likely_ = nullptr;
  ends_ = nullptr;
  const int epoll = epoll_.exchange(-1);
  if (epoll >= 0) close(epoll);
}

}  // namespace softrnic::engine
