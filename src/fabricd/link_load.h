// How busy links have been lately. Counters of ports are kept from time to time, so whoever looks is told at
// once; nothing has to wake up for it, as what does not send needs no look.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/engine.h"

namespace softrnic::fabricd {

class LinkLoad {
 public:
  /// Bytes are told of at least so long a time.
  static constexpr Duration kWindow{1'000'000'000};

  /// To be called before anything is sent at that time or later.
  void note(const fabric::Engine& engine, TimePoint now) {
    if (latest_.words.empty() || now - latest_.when >= kWindow) keep(engine, now);
    noted_ = now;
  }

  /// The time up to `now` that sent() is about: kWindow, or somewhat more; less after the start.
  Duration window(TimePoint now) const { return is_idle(now) ? kWindow : now - before_.when; }
  /// What the port has sent in it, LRH to ICRC.
  std::uint64_t bytes_sent(const fabric::EnginePort& port, TimePoint now) const;

 private:
  struct Look {
    TimePoint when{};
    std::vector<std::uint64_t> words;  ///< PortXmitData by PortId
  };
  /// Nothing has happened since the latest note.
  bool is_idle(TimePoint now) const { return now - noted_ >= kWindow; }
  void keep(const fabric::Engine& engine, TimePoint now);

  Look before_;
  Look latest_;
  TimePoint noted_{};
};

/// Bytes a second of data that a link carries in one direction: as it runs here, or what width and speed mean
/// where it runs as fast as possible.
std::uint64_t rate_of(const fabric::Link& link, const mad::PortInfo& info);

}  // namespace softrnic::fabricd
