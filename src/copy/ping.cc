#include "copy/ping.h"

#include <algorithm>
#include <numeric>

#include "copy/handshake.h"
#include "copy/stream.h"

namespace softrnic::copy {
namespace {

constexpr auto kPongPatience = std::chrono::seconds(10);

class Pinger {
 public:
  Pinger(ConnectionPtr connection, OwnRing own, const Ring& peer, std::size_t size)
      : connection_(std::move(connection)), own_(std::move(own)), peer_(peer), size_(size) {}

  Result<PingSample> exchange(std::uint64_t serial) {
    const auto begin = Clock::now();
    const auto sent = connection_->send(make_message(Echo{serial}, MessageType::ping), padding());
    if (!sent) return Unexpected{sent.error()};
    if (const auto answered = wait_for_pong(serial, begin + kPongPatience); !answered)
      return Unexpected{answered.error()};
    const auto middle = Clock::now();
    const MutableBytes into = own_.buffer.bytes().first(std::min<std::size_t>(size_, peer_.slot_size));
    const auto read = connection_->read(into, own_.buffer.lkey(), {peer_.address, peer_.rkey});
    if (!read) return Unexpected{read.error()};
    while (!connection_->is_done(*read))
      if (const auto stepped = step(middle + kPongPatience); !stepped) return Unexpected{stepped.error()};
    return PingSample{serial, middle - begin, Clock::now() - middle};
  }

  /// Trouble::interrupted when the caller is to stop.
  Result<void> wait_until(Deadline time) {
    while (Clock::now() < time)
      if (const auto stepped = connection_->step(time); !stepped) return stepped;
    return {};
  }

  Connection& connection() { return *connection_; }

 private:
  std::size_t padding() const { return size_ > sizeof(std::uint64_t) ? size_ - sizeof(std::uint64_t) : 0; }

  Result<void> step(Deadline deadline) {
    if (Clock::now() >= deadline) return fail(Trouble::broken, "no answer", ETIMEDOUT);
    return connection_->step(deadline);
  }

  Result<void> wait_for_pong(std::uint64_t serial, Deadline deadline) {
    for (;;) {
      Echo echo;
      while (const auto arrival = connection_->take())
        if (!arrival->is_frame && read_message(echo, arrival->message.view(), MessageType::pong) &&
            echo.serial == serial)
          return {};
      if (const auto stepped = step(deadline); !stepped) return stepped;
    }
  }

  ConnectionPtr connection_;
  OwnRing own_;
  Ring peer_;
  std::size_t size_;
};

Nanoseconds rank(const std::vector<Nanoseconds>& sorted, unsigned per_mille) {
  const std::size_t at = (sorted.size() * per_mille + 999) / 1000;
  return sorted[std::max<std::size_t>(at, 1) - 1];
}

Result<Pinger> connect(const PingOptions& options) {
  const Deadline deadline = Clock::now() + kPongPatience;
  auto connection = Connection::dial(options.host, options.port, options.stop_fd, deadline);
  if (!connection) return Unexpected{connection.error()};
  auto own = make_ring(**connection, 2, kMinSlotSize, 0);
  if (!own) return Unexpected{own.error()};
  const auto peer = greet_server(**connection, options.token, {Role::ping, own->ring}, deadline);
  if (!peer) return Unexpected{peer.error()};
  if (options.spin) (*connection)->spin_for(kPongPatience);
  return Pinger(std::move(*connection), std::move(*own), peer->ring, std::min(options.size, kMaxPing));
}

}  // namespace

Result<PingReport> ping(const PingOptions& options, const std::function<void(const PingSample&)>& each) {
  auto pinger = connect(options);
  if (!pinger) return Unexpected{pinger.error()};
  PingReport report;
  report.peer = pinger->connection().peer_name();
  Clock::time_point next = Clock::now();
  Result<void> went = {};
  while (went && (options.count == 0 || report.sent < options.count)) {
    const auto sample = pinger->exchange(++report.sent);
    if (sample) {
      each(*sample);
      report.samples.push_back(*sample);
      next += options.interval;
      went = report.sent == options.count ? Result<void>{} : pinger->wait_until(next);
    } else {
      went = Unexpected{sample.error()};
    }
  }
  if (!went && went.error().trouble != Trouble::interrupted) return Unexpected{went.error()};
  pinger->connection().disconnect();
  return report;
}

Result<void> answer_pings(Connection& connection) {
  for (;;) {
    while (const auto arrival = connection.take()) {
      Echo echo;
      if (arrival->is_frame || !read_message(echo, arrival->message.view(), MessageType::ping))
        return fail(Trouble::protocol, "this is no ping");
      const Message pong = make_message(echo, MessageType::pong);
      const auto sent = connection.send(pong, arrival->message.size - pong.size);
      if (!sent) return Unexpected{sent.error()};
    }
    if (const auto stepped = connection.step(Clock::now() + kSilence); !stepped) return stepped;
  }
}

Spread spread_of(std::vector<Nanoseconds> values) {
  std::sort(values.begin(), values.end());
  const auto sum = std::accumulate(values.begin(), values.end(), Nanoseconds{});
  return {values.front(),    sum / static_cast<std::int64_t>(values.size()),
          values.back(),     rank(values, 500),
          rank(values, 900), rank(values, 990),
          rank(values, 999)};
}

}  // namespace softrnic::copy
