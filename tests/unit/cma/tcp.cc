#include "tests/unit/cma/tcp.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::cma {

Expected<void, Failure> Tcp::Side::listen(iwcm::ListenerId listener, const iwcm::Listening& listening) {
  const iwcm::Endpoint& at = listening.at;
  if (refuse_to_listen != 0 && (refuse_at.is_zero() || refuse_at == at.host))
    return Unexpected{refuse(refuse_to_listen, ReasonId::iwcm_listen, at.port, refuse_to_listen)};
  listeners_.emplace(listener, at);
  if (std::find(tcp_.sides_.begin(), tcp_.sides_.end(), this) == tcp_.sides_.end())
    tcp_.sides_.push_back(this);
  return {};
}

void Tcp::Side::unlisten(iwcm::ListenerId listener) { listeners_.erase(listener); }

Expected<void, Failure> Tcp::Side::open(iwcm::Id stream, const iwcm::Endpoint& from, const iwcm::Endpoint& to,
                                        std::uint8_t) {
  Pipe& pipe = tcp_.pipes_[tcp_.next_];
  pipe.ends[0].side = this;
  pipe.ends[0].stream = stream;
  pipe.from = from;
  if (pipe.from.port == 0) pipe.from.port = tcp_.next_port_++;
  pipe.to = to;
  ends_[stream] = {tcp_.next_++, 0};
  ++tcp_.connections;
  return {};
}

bool Tcp::Side::write(iwcm::Id stream, Bytes bytes) {
  const auto at = ends_.find(stream);
  if (at == ends_.end() || broken) return false;
  End& other = tcp_.pipes_.at(at->second.first).ends[1 - at->second.second];
  other.inbox.insert(other.inbox.end(), bytes.begin(), bytes.end());
  return true;
}

void Tcp::Side::close(iwcm::Id stream) {
  const auto at = ends_.extract(stream);
  if (!at.empty()) tcp_.pipes_.at(at.mapped().first).ends[at.mapped().second].closed = true;
}

void Tcp::Side::take(iwcm::Id stream) {
  ends_.erase(stream);
  manager_().taken(stream);
}

std::string Tcp::Side::inbox(iwcm::Id stream) const {
  const auto [pipe, end] = ends_.at(stream);
  std::string out;
  for (const std::byte byte : tcp_.pipes_.at(pipe).ends[end].inbox) out.push_back(static_cast<char>(byte));
  return out;
}

bool Tcp::deliver() {
  for (auto& [number, pipe] : pipes_) {
    if (!pipe.open && connect(number)) return true;
    for (const int end : {0, 1})
      if (pipe.open && deliver(pipe, end)) return true;
  }
  return false;
}

bool Tcp::connect(std::size_t number) {
  Pipe& pipe = pipes_.at(number);
  if (silent || pipe.ends[0].closed || pipe.ends[0].told) return false;
  for (Side* const side : sides_)
    for (const auto& [listener, at] : side->listeners_) {
      if (at != pipe.to) continue;
      const iwcm::Id stream = side->manager_().incoming(listener, pipe.to, pipe.from, now);
      pipe.open = true;
      pipe.ends[1].side = side;
      pipe.ends[1].stream = stream;
      pipe.ends[1].closed = stream.value == 0;
      if (stream.value != 0) side->ends_[stream] = {number, 1};
      pipe.ends[0].side->manager_().opened(pipe.ends[0].stream, pipe.from, now);
      return true;
    }
  pipe.ends[0].told = true;
  pipe.ends[0].side->manager_().ended(pipe.ends[0].stream, ECONNREFUSED, now);
  return true;
}

bool Tcp::deliver(Pipe& pipe, int which) {
  End& end = pipe.ends[which];
  if (end.closed || !end.side->ends_.contains(end.stream)) return false;
  const std::size_t wanted = end.side->manager_().wanted(end.stream);
  const std::size_t count = std::min({wanted, end.inbox.size(), piece});
  if (count != 0) {
    const std::vector<std::byte> bytes(end.inbox.begin(), end.inbox.begin() + static_cast<long>(count));
    end.inbox.erase(end.inbox.begin(), end.inbox.begin() + static_cast<long>(count));
    end.side->manager_().received(end.stream, bytes, now);
    return true;
  }
  if (!pipe.ends[1 - which].closed || end.told || wanted == 0) return false;
  end.told = true;
  end.side->manager_().ended(end.stream, 0, now);
  return true;
}

}  // namespace softrnic::cma
