// Reads the control page of any process, alive or dead, without trusting it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "control/page_layout.h"

namespace softrnic::control {

using CounterValues = std::array<std::uint64_t, ib::kCounters>;

struct LaneView {
  std::uint32_t lane = 0;
  CounterValues counters{};
};

struct QpView {
  PageQpBody body;
  std::uint32_t send_psn = 0;
  std::uint32_t receive_psn = 0;
  CounterValues counters{};
  std::vector<ExplanationHistory::Entry> reasons;  ///< oldest first
};

struct ProcessView {
  std::int32_t pid = 0;
  std::string comm;
  std::uint64_t started_ns = 0;
};

class PageReader {
 public:
  /// Maps the page in `fd` (which stays the caller's) read-only. Fails with a positive errno: EPROTO when it
  /// is not a page of this version, EPERM when it is not a memfd of ordinary pages that is sealed against
  /// shrinking and as long as the layout.
  static Expected<PageReader, int> open(int fd);
  PageReader(PageReader&& other) noexcept;
  PageReader& operator=(PageReader&& other) noexcept;
  ~PageReader();

  ProcessView process() const;
  std::vector<LaneView> lanes() const;
  /// All that the process has ever counted: by the lanes that it has, and by those that it had.
  CounterValues counted() const;
  std::vector<QpView> qps() const;
  /// The latest explanations, oldest first; at most kPageExplanations.
  std::vector<Explanation> explanations() const;

 private:
  std::vector<ExplanationHistory::Entry> reasons_of(const PageQp& row) const;
  explicit PageReader(const Page* page) : page_(page) {}
  const Page* page_ = nullptr;
};

}  // namespace softrnic::control
