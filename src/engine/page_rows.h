// What the control page shows of a lane: its counters, and the rows of its queue pairs, which are written
// now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/batch_clock.h"
#include "control/page_writer.h"
#include "engine/qp_table.h"
#include "rnic/queue_pair.h"

namespace softrnic::engine {

/// Not thread-safe: the lane's lock guards it.
class PageRows {
 public:
  /// How stale the page may be.
  static constexpr Duration kInterval = std::chrono::milliseconds(100);

  /// `page` outlives the rows.
  PageRows(control::PageWriter& page, std::uint8_t lane) : page_(page), shown_(page.add_lane(lane)) {}
  ~PageRows() { page_.remove_lane(shown_); }
  PageRows(const PageRows&) = delete;
  PageRows& operator=(const PageRows&) = delete;

  /// Counters of the lane, or nullptr.
  ib::Total* totals() const { return shown_ != nullptr ? shown_->counters : nullptr; }
  void count(ib::Counter counter, std::uint64_t by) {
    if (shown_ != nullptr) ib::add(shown_->counters[static_cast<std::size_t>(counter)], by);
  }

  /// Makes room for so many queue pairs: outdate() then needs no memory.
  void reserve(std::size_t qps);
  void take_row(QpSlot& slot) { slot.row = page_.take_row(); }
  void give_back_row(QpSlot& slot) { page_.give_back_row(slot.row); }

  /// The row of the queue pair is out of date. True: due() has changed by that.
  bool outdate(QpSlot& slot, const BatchClock& clock) {
    if (slot.dirty || slot.row == 0) return false;
    slot.dirty = true;
    dirty_.push_back(slot.qp->qpn());
    if (due_ != kNever) return false;
    due_ = clock.now() + kInterval;
    return true;
  }
  /// When write() is to be called, or kNever.
  TimePoint due() const { return due_; }
  /// Writes all rows that are out of date; path_of(qp) is a control::PathChoice.
  template <typename PathOf>
  void write(QpTable& qps, PathOf&& path_of) {
    for (const Qpn qpn : dirty_) {
      QpSlot* const slot = qps.find(qpn);
      if (slot == nullptr || !slot->dirty) continue;
      slot->dirty = false;
      page_.write_row(slot->row, *slot->qp, static_cast<std::uint8_t>(path_of(*slot->qp)));
    }
    dirty_.clear();
    due_ = kNever;
  }

 private:
  control::PageWriter& page_;
  control::PageLane* const shown_;
  std::vector<Qpn> dirty_;  ///< QPs whose rows are out of date
  TimePoint due_ = kNever;
};

}  // namespace softrnic::engine
