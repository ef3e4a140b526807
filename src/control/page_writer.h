// The writing side of the control page (control/page_layout.h).
//
// Each record has one writer at a time: a lane's counters and the rows of its QPs are written under the
// lane's lock, the ring of explanations by anybody (each writer owns the number it drew).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/reason.h"
#include "control/page_layout.h"

namespace softrnic::rnic {
class QueuePair;
}

namespace softrnic::control {

class PageWriter {
 public:
  /// Makes the page of this process. Without memory for a memfd the page is private: it works, nobody sees
  /// it.
  PageWriter();
  ~PageWriter();
  PageWriter(const PageWriter&) = delete;
  PageWriter& operator=(const PageWriter&) = delete;

  /// The memfd, sealed against shrinking; -1: there is none.
  int fd() const { return fd_; }

  /// Shows lane number `lane`; nullptr when there are too many.
  PageLane* add_lane(std::uint8_t lane);
  /// What it has counted stays in the page, for PageReader::counted().
  void remove_lane(PageLane* lane);

  /// A row for a queue pair: its number plus one, 0 when all are taken. Thread-safe.
  std::uint32_t take_row();
  void give_back_row(std::uint32_t row);
  /// Writes everything the queue pair shows of itself; `path` is a DirectState.
  void write_row(std::uint32_t row, const rnic::QueuePair& qp, std::uint8_t path);

  /// Adds to the ring. Thread-safe, does not allocate.
  void record(const Explanation& explanation);

  /// In a forked child: the page stays the parent's; this object writes to private memory from here on.
  void detach_from_parent();

 private:
  /// Moves what a former lane has counted to another place without a lane, the last one.
  void retire(PageLane& from);

  Page* page_ = nullptr;
  int fd_ = -1;
  std::mutex mutex_;  ///< guards the free rows and the lanes
  std::vector<std::uint32_t> free_rows_;
  std::uint32_t fresh_rows_ = 0;
};

}  // namespace softrnic::control
