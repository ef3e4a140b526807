// The time of one RDMA WRITE as ib_write_lat takes it: two processes write to each other in turns
// and wait for the last byte in memory. With --shared on memory that processes can share, which
// perftest cannot register.
//
//   write_latency [OPTIONS] SECONDS          one side
//   write_latency [OPTIONS] SECONDS HOST     the other, prints the median of half the exchange in us
//     --size BYTES (65536)  --shared  --gid-index N  --port N
//     --then BYTES: each is followed by another WRITE of so many, 0 for one as UCX flushes with, and its
//     completion is waited for before the other side's answer
//     exchanges: --count N (20000), SECONDS is not used
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "bench/writer.h"

using bench::Address;
using bench::Options;
using bench::Side;
using interop::Channel;

namespace {

using Clock = std::chrono::steady_clock;

/// The two halves of a region: what this side sends, and what it is sent.
class Game {
 public:
  Game(Side& side, const Address& peer, const Options& o)
      : side_(side),
        peer_(peer),
        size_(o.size),
        then_(o.then),
        out_(o.initiator() ? 0 : o.size),
        in_(o.initiator() ? o.size : 0) {}

  void send(std::uint8_t mark) {
    side_.data()[out_ + size_ - 1] = std::byte{mark};
    side_.post(0, peer_, out_, size_);
    if (then_) side_.post(0, peer_, out_, *then_);
  }
  void receive(std::uint8_t mark) {
    const std::atomic_ref last(reinterpret_cast<std::uint8_t&>(side_.data()[in_ + size_ - 1]));
    while (last.load(std::memory_order_acquire) != mark) {
    }
  }
  void complete() {
    ibv_wc done[2];
    for (std::size_t left = then_ ? 2 : 1; left > 0;) left -= side_.poll(done, left);
  }

 private:
  Side& side_;
  const Address& peer_;
  std::size_t size_;
  std::optional<std::size_t> then_;
  std::size_t out_, in_;
};

/// One exchange after the other; the time of each in us.
std::vector<double> play(Game& game, bool first, std::size_t count) {
  std::vector<double> times;
  times.reserve(count);
  auto before = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    const auto mark = static_cast<std::uint8_t>(i % 255 + 1);
    if (!first) game.receive(mark);
    game.send(mark);
    game.complete();
    if (first) game.receive(mark);
    const auto now = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(now - before).count());
    before = now;
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  Options o = bench::parse(argc, argv);
  o.memory = 2 * o.size;
  const std::size_t count = o.count ? o.count : 20000;
  Side side(o);
  Channel channel = o.initiator() ? Channel::connect_to(o.host, o.port) : Channel::accept_one(o.port);
  const Address peer = side.start(channel);
  Game game(side, peer, o);
  std::vector<double> times = play(game, o.initiator(), count);
  channel.barrier();
  if (!o.initiator()) return 0;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count / 2), times.end());
  std::printf("%.4f\n", times[count / 2] / 2);
}
