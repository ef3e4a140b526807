// RDMA WRITEs from one process to another, with the number of queue pairs and the memory they cover
// set apart: ib_write_bw gives every queue pair a buffer of its own, so that many of them also leave
// the processor's cache. With --shared on memory that processes can share, which perftest cannot register.
//
//   write_rate [OPTIONS] SECONDS          the target
//   write_rate [OPTIONS] SECONDS HOST     the initiator, prints GB/s (10^9)
//     --qps N  --size BYTES (65536)  --memory BYTES (that of the messages of all queue pairs)
//     --count MESSAGES
//     --offset BYTES (0; where the region of the target begins in its page)
//     --shared  --gid-index N  --port N
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/writer.h"

using bench::Address;
using bench::Options;
using bench::Side;
using interop::Channel;

namespace {

/// Keeps all queue pairs full, in turns, for the time or the count; every message takes the
/// next place of the region.
double run(Side& side, const Address& peer, const Options& o) {
  using Clock = std::chrono::steady_clock;
  const std::size_t places = o.memory / o.size;
  std::size_t place = 0;
  std::uint64_t completed = 0, posted = 0, in_time = 0;
  const auto post = [&](std::size_t index) {
    side.post(index, peer, place * o.size, o.size);
    place = (place + 1) % places;
    ++posted;
  };
  // As many as one queue pair holds, whatever their number, but at least eight for each.
  const std::size_t each = std::max<std::size_t>(8, Side::kDepth / o.qps);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < each; ++k)
    for (std::size_t i = 0; i < o.qps; ++i) post(i);
  auto last = begin;
  const auto end = begin + std::chrono::duration<double>(o.seconds);
  while (completed < posted) {
    ibv_wc done[16];
    const std::size_t n = side.poll(done, 16);
    completed += n;
    const auto now = Clock::now();
    if (n == 0 || (o.count == 0 && now >= end)) continue;
    in_time = completed;
    last = now;
    for (std::size_t i = 0; i < n && (o.count == 0 || posted < o.count); ++i) post(done[i].wr_id);
  }
  return static_cast<double>(in_time * o.size) / std::chrono::duration<double>(last - begin).count() / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = bench::parse(argc, argv);
  Side side(o);
  Channel channel = o.initiator() ? Channel::connect_to(o.host, o.port) : Channel::accept_one(o.port);
  const Address peer = side.start(channel);
  if (o.initiator()) std::printf("%.3f\n", run(side, peer, o));
  channel.barrier();
}
