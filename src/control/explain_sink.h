// Where explanations end up: the ring of the control page, and stderr when SOFTRNIC_EXPLAIN is set.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/reason.h"
#include "base/time.h"
#include "control/page_writer.h"

namespace softrnic::control {

/// "softrnic: QP 0x10002 wr_id 7: sentence -> cure" and a newline.
std::string format_explanation(const Explanation& explanation, std::uint64_t repeats);

/// Lets through at most kPerSecond of the same reason and QP a second and kAllPerSecond of
/// all, and counts the rest.
class RepeatLimit {
 public:
  static constexpr std::uint32_t kPerSecond = 4;
  static constexpr std::uint32_t kAllPerSecond = 100;

  struct Verdict {
    bool pass = false;
    std::uint64_t repeats = 0;  ///< swallowed since the last one that was let through
  };
  Verdict admit(const Explanation& explanation, TimePoint now);

 private:
  struct Entry {
    ReasonId reason{};
    std::uint32_t qpn = 0;
    TimePoint window{};
    std::uint32_t passed = 0;
    std::uint64_t swallowed = 0;
  };
  static constexpr std::size_t kEntries = 128;  ///< a cache: two that share a place may repeat more often

  std::array<Entry, kEntries> entries_{};
  TimePoint window_{};
  std::uint32_t passed_ = 0;
};

/// Around fork(), so that the child does not find the sink locked by a thread it has not.
void lock_explain_sink();
void unlock_explain_sink();

/// Installs the sink of this process. `page` lives for ever; nullptr: none.
void install_explain_sink(PageWriter* page, bool to_stderr);

}  // namespace softrnic::control
