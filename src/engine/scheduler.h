// Which queue pair of a lane sends next.
//
//   touched   something happened to it: it is asked once, and again while it has more than a burst to send
//   waiting   its path's window is full: it stands in its path's line, and costs nothing until its turn
//
// Queue pairs take turns of kBurstBytes. While others stand in line for a path, one that is touched may
// answer its peer (ACKs, read responses) but its requests go to the end of the line: without that, those
// whose ACKs come in would take all the room and the others would never start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport/ib/endpoint.h"
#include "transport/ib/path_window.h"

namespace softrnic::engine {

/// `Qp` has hook() (rnic::SchedulerHook), transmit(), deadline() and endpoint().window(), as rnic::QueuePair
/// does.
template <typename Qp>
class Scheduler {
 public:
  /// So many messages of a queue pair arrive in one batch that one ACK serves them all: with turns
  /// of 64 KiB, a hundred queue pairs that write messages of 64 KiB had an ACK for each, and two
  /// thirds of the rate of one.
  static constexpr std::size_t kBurstBytes = 256 * 1024;

  /// Makes room for so many queue pairs and paths, so that nothing else here needs memory.
  void reserve(std::size_t qps, std::size_t paths);
  /// Something happened to the queue pair: it is to be asked for packets.
  void touch(Qp& qp);
  /// Forgets the queue pair. To be called before its window changes, too.
  void remove(Qp& qp);

  /// Asks queue pairs for packets until none has any, about `packets` were sent, or is_full() is true after a
  /// turn. Calls send(packet) for each packet and after(qp) after each turn. Returns the number of packets
  /// sent.
  template <typename Send, typename After, typename IsFull>
  std::size_t run(TimePoint now, std::size_t packets, Send&& send, After&& after, IsFull&& is_full) {
    std::size_t sent = 0;
    std::size_t fruitless = 0;
    while (sent < packets && fruitless < kMaxFruitless && !is_full()) {
      bool turn = false;
      Qp* qp = next(turn);
      if (qp == nullptr) break;
      const std::size_t n = serve(*qp, turn, now, send);
      if (turn && n == 0) ++fruitless;
      sent += n;
      after(*qp);
    }
    forget_served();
    return sent;
  }

  /// Whether run() left something to do.
  bool has_work() const {
    return touched_count_ != 0 || std::any_of(lines_.begin(), lines_.end(), [](const ib::PathWindow* path) {
             return path->has_much_room();
           });
  }
  /// Whether some queue pair stands in line for a window.
  bool has_waiting() const { return !lines_.empty(); }
  /// Why this state cannot be; nullptr: it can. Looks at everything.
  const char* broken_invariant() const;

 private:
  /// Turns in line that sent nothing although there was room
  static constexpr std::size_t kMaxFruitless = 64;

  enum Flag : std::uint32_t { kTouched = 1, kWaiting = 2 };

  /// The queue pairs that wait for a path, linked through their hooks.
  struct Line {
    Qp* first = nullptr;
    Qp* last = nullptr;
  };

  static ib::PathWindow* path_of(Qp& qp) { return qp.endpoint().window(); }
  Line& line_of(ib::PathWindow& path);

  Qp* next(bool& turn);
  Qp* next_in_line();
  template <typename Send>
  std::size_t serve(Qp& qp, bool turn, TimePoint now, Send& send);
  void enqueue(ib::PathWindow& path, Qp& qp);
  void dequeue(Qp& qp);
  void forget_served();
  const char* broken_line(const Line& line) const;

  std::vector<ib::PathWindow*> lines_;  ///< the paths with somebody in line
  std::vector<Line> all_lines_;         ///< by SchedulerHook::line; that of a path once it has one
  std::size_t next_line_ = 0;
  std::vector<Qp*> touched_;  ///< from first_touched_ on
  std::size_t first_touched_ = 0;
  std::size_t touched_count_ = 0;
  ib::TxPacket packet_;
};

template <typename Qp>
void Scheduler<Qp>::reserve(std::size_t qps, std::size_t paths) {
  // Twice: what was served stands there until the run is over or the room is needed.
  if (touched_.capacity() < 2 * qps) touched_.reserve(4 * qps);
  if (lines_.capacity() < paths) lines_.reserve(2 * paths);
  if (all_lines_.capacity() < paths) all_lines_.reserve(2 * paths);
}

template <typename Qp>
typename Scheduler<Qp>::Line& Scheduler<Qp>::line_of(ib::PathWindow& path) {
  if (path.hook().line == ib::PathWindow::SchedulerHook::kNoLine) {
    path.hook().line = static_cast<std::uint32_t>(all_lines_.size());
    all_lines_.emplace_back();
  }
  return all_lines_[path.hook().line];
}

template <typename Qp>
void Scheduler<Qp>::touch(Qp& qp) {
  if ((qp.hook().flags & kTouched) != 0) return;
  if (touched_.size() == touched_.capacity()) forget_served();
  qp.hook().flags |= kTouched;
  touched_.push_back(&qp);
  ++touched_count_;
}

template <typename Qp>
void Scheduler<Qp>::remove(Qp& qp) {
  if ((qp.hook().flags & kTouched) != 0) {
    const auto first = touched_.begin() + static_cast<std::ptrdiff_t>(first_touched_);
    touched_.erase(std::find(first, touched_.end(), &qp));
    qp.hook().flags &= ~std::uint32_t{kTouched};
    --touched_count_;
  }
  if ((qp.hook().flags & kWaiting) != 0) dequeue(qp);
}

template <typename Qp>
void Scheduler<Qp>::enqueue(ib::PathWindow& path, Qp& qp) {
  Line& line = line_of(path);
  qp.hook().flags |= kWaiting;
  qp.hook().next = nullptr;
  qp.hook().previous = line.last;
  if (line.last != nullptr) {
    line.last->hook().next = &qp;
  } else {
    line.first = &qp;
    path.hook().waited_for = true;
    lines_.push_back(&path);
  }
  line.last = &qp;
}

template <typename Qp>
void Scheduler<Qp>::dequeue(Qp& qp) {
  ib::PathWindow& path = *path_of(qp);
  Line& line = line_of(path);
  qp.hook().flags &= ~std::uint32_t{kWaiting};
  Qp* const before = qp.hook().previous;
  Qp* const behind = qp.hook().next;
  if (before != nullptr) {
    before->hook().next = behind;
  } else {
    line.first = behind;
  }
  if (behind != nullptr) {
    behind->hook().previous = before;
  } else {
    line.last = before;
  }
  path.hook().waited_for = line.first != nullptr;
  if (!path.hook().waited_for) std::erase(lines_, &path);
}

template <typename Qp>
Qp* Scheduler<Qp>::next(bool& turn) {
  turn = first_touched_ == touched_.size();
  if (!turn) {
    Qp* const qp = touched_[first_touched_++];
    qp->hook().flags &= ~std::uint32_t{kTouched};
    --touched_count_;
    return qp;
  }
  return next_in_line();
}

template <typename Qp>
Qp* Scheduler<Qp>::next_in_line() {
  for (std::size_t tried = 0; tried < lines_.size(); ++tried) {
    next_line_ = (next_line_ + 1) % lines_.size();
    ib::PathWindow& path = *lines_[next_line_];
    if (!path.has_much_room()) continue;
    Qp* qp = line_of(path).first;
    dequeue(*qp);
    return qp;
  }
  return nullptr;
}

template <typename Qp>
template <typename Send>
std::size_t Scheduler<Qp>::serve(Qp& qp, bool turn, TimePoint now, Send& send) {
  ib::PathWindow* const path = path_of(qp);
  const bool hold = !turn && path != nullptr && path->hook().waited_for;
  if (hold) path->hold(true);
  std::size_t packets = 0;
  std::size_t bytes = 0;
  ib::Transmit answer = ib::Transmit::packet;
  while (bytes < kBurstBytes) {
    answer = qp.transmit(packet_, now);
    if (answer == ib::Transmit::packet) {
      send(packet_);
    } else if (answer != ib::Transmit::direct) {
      break;
    }
    bytes += packet_.payload_bytes + wire::kBthBytes;
    ++packets;
  }
  if (hold) path->hold(false);
  const bool waiting = (qp.hook().flags & kWaiting) != 0;
  if (answer == ib::Transmit::idle) {
    if (waiting) dequeue(qp);
  } else if (answer != ib::Transmit::blocked) {
    touch(qp);
  } else if (path != nullptr && !waiting && (hold || !path->has_much_room() || qp.deadline() == kNever)) {
    enqueue(*path, qp);  // else it waits for tokens: its deadline brings it back
  }
  return packets;
}

template <typename Qp>
const char* Scheduler<Qp>::broken_invariant() const {
  if (touched_.size() - first_touched_ != touched_count_) return "touched queue pairs are miscounted";
  for (std::size_t i = first_touched_; i < touched_.size(); ++i)
    if ((touched_[i]->hook().flags & kTouched) == 0)
      return "a queue pair is to be asked and does not know it";
  std::size_t lines = 0;
  for (const Line& line : all_lines_) {
    if (line.first == nullptr) continue;
    ++lines;
    if (const char* broken = broken_line(line)) return broken;
  }
  return lines == lines_.size() ? nullptr : "lines with somebody in them are miscounted";
}

template <typename Qp>
const char* Scheduler<Qp>::broken_line(const Line& line) const {
  const ib::PathWindow* const path = path_of(*line.first);
  if (!path->hook().waited_for || std::count(lines_.begin(), lines_.end(), path) != 1)
    return "a path does not know who waits for it";
  Qp* before = nullptr;
  for (Qp* qp = line.first; qp != nullptr; before = qp, qp = qp->hook().next) {
    if (qp->hook().previous != before) return "a line is linked wrongly";
    if ((qp->hook().flags & kWaiting) == 0 || path_of(*qp) != path)
      return "a queue pair stands in a wrong line";
  }
  return before == line.last ? nullptr : "a line has a wrong end";
}

template <typename Qp>
void Scheduler<Qp>::forget_served() {
  touched_.erase(touched_.begin(), touched_.begin() + static_cast<std::ptrdiff_t>(first_touched_));
  first_touched_ = 0;
}

}  // namespace softrnic::engine
