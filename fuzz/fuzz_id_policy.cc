// Input: what an honest peer does, and step by step how much time passes, who sends (the peer, or somebody in
// its name) and with which identification. Whatever is forged, only so many packets of the peer are refused;
// without forgery none is.
#include "fuzz/check.h"
#include "link/ipv4_id_policy.h"

using namespace softrnic;

namespace {

/// Sends as IdPolicy expects of an honest peer.
struct Peer {
  static constexpr std::uint64_t kHalf = 0x8000;  ///< farther ahead is behind
  bool counts;
  std::uint16_t count;

  std::uint16_t next(std::uint16_t choice, std::chrono::microseconds silence) {
    if (!counts) return choice % link::IdPolicy::kSmallIds;
    const auto most = link::IdPolicy::kForward +
                      link::IdPolicy::kEachMicrosecond * static_cast<std::uint64_t>(silence.count());
    return count = static_cast<std::uint16_t>(count + 1 + choice % std::min<std::uint64_t>(most - 1, kHalf));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  link::IdPolicy ids;
  const wire::Gid source = wire::Gid::from_ipv4_be(0x0100000a);
  Peer peer{(input.take<std::uint8_t>() & 1) != 0, input.take<std::uint16_t>()};
  if (peer.counts && peer.count < link::IdPolicy::kSmallIds) peer.count += link::IdPolicy::kSmallIds;
  TimePoint now{std::chrono::hours(1)};
  TimePoint sent = now;
  unsigned refused = 0;
  bool forged = false;
  const TimePoint end = now + link::IdPolicy::kStrange;
  while (!input.empty()) {
    const auto choice = input.take<std::uint16_t>();
    const auto time = input.take<std::uint8_t>();
    const auto what = input.take<std::uint8_t>();  // bit 0: forged, bit 1: the time is in milliseconds
    now += (what & 2) != 0 ? Duration(std::chrono::milliseconds(time))
                           : Duration(std::chrono::microseconds(time));
    if (now > end) break;
    if ((what & 1) != 0) {
      forged = true;
      static_cast<void>(ids.accept(source, choice, {now, now}));
      continue;
    }
    const auto silence = std::chrono::duration_cast<std::chrono::microseconds>(now - sent);
    sent = now;
    const bool believed = ids.accept(source, peer.next(choice, silence), {now, now});
    FUZZ_CHECK(believed || peer.counts);
    refused += believed ? 0 : 1;
  }
  FUZZ_CHECK(refused < link::IdPolicy::kMostStrange);
  FUZZ_CHECK(forged || refused == 0);
  return 0;
}
