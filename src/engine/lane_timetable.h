// What a lane does at times of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "engine/lane.h"

namespace softrnic::engine {

/// When and who: a step of a batch, or of the end of all of them, does it when it is due; the link,
/// what is held and the windows are looked after by every batch; and some is the engine thread's alone. Steps
/// of a poll are those of a batch that the thread leaves for longer to a program that polls.
/// Everything is known where it is compiled, so that a look at all of it is no calls.
struct Lane::Timetable {
  static constexpr Duration kRecheckWindows = std::chrono::milliseconds(10);
  static constexpr Duration kRecheckReceives = std::chrono::milliseconds(1);

  enum class Who : std::uint8_t { batch_step, poll_step, end_step, every_batch, engine_thread };
  struct Row {
    Who who;
    TimePoint (*when)(const Lane& lane);
    void (*run)(Lane& lane);
  };

  static constexpr Row kRows[] = {
      // packets that the link delays, and a link that is full
      {Who::every_batch, [](const Lane& lane) { return lane.link_->deadline(); }, nullptr},
      // packets and streams that wait for receives, which nobody announces
      {Who::every_batch,
       [](const Lane& lane) {
         const bool any = lane.hold_.any() || lane.streams_.any_waiting();
         return any ? lane.clock_.batch_time() + ReceiveHold::kTryAgain : kNever;
       },
       nullptr},
      // frames that wait for them in the kernel
      {Who::every_batch,
       [](const Lane& lane) {
         return lane.ports_.waiting() ? lane.clock_.batch_time() + kRecheckReceives : kNever;
       },
       nullptr},
      // windows that open without a packet, as another queue pair was reset
      {Who::every_batch,
       [](const Lane& lane) {
         return lane.scheduler_.has_waiting() ? lane.clock_.batch_time() + kRecheckWindows : kNever;
       },
       nullptr},
      // paths to local peers that are not resolved in time
      {Who::batch_step, [](const Lane& lane) { return lane.peers_.decision_due(); },
       [](Lane& lane) { lane.peers_.decide(); }},
      // deadlines of queue pairs
      {Who::batch_step, [](const Lane& lane) { return lane.deadlines_.earliest(); },
       [](Lane& lane) { lane.expire(); }},
      // streams that a fault has made stand still
      {Who::batch_step, [](const Lane& lane) { return lane.streams_.stall_over(); },
       [](Lane& lane) {
         lane.streams_.go_on(lane.clock_.batch_time(), [&](rnic::QueuePair& qp) { lane.touch(qp); });
       }},
      // a delayed ACK
      {Who::batch_step, [](const Lane& lane) { return lane.delayed_ack_.due(); },
       [](Lane& lane) { lane.touch(lane.delayed_ack_.release()); }},
      // a WRITE of a stream whose completion waits
      {Who::poll_step, [](const Lane& lane) { return lane.streams_.delayed_until(); },
       [](Lane& lane) { lane.streams_.complete_delayed(); }},
      // rows of the control page
      {Who::end_step, [](const Lane& lane) { return lane.rows_.due(); },
       [](Lane& lane) { lane.write_rows(); }},
      // events of completion queues that wait
      {Who::end_step, [](const Lane& lane) { return lane.event_looks_.due(); },
       [](Lane& lane) { lane.event_looks_.look(lane.clock_.batch_time()); }},
      // streams that have ended, once the program has what that brought
      {Who::end_step,
       [](const Lane& lane) { return lane.streams_.any_ended() ? lane.clock_.batch_time() : kNever; },
       [](Lane& lane) { lane.streams_.tell_ends(); }},
      // streams, of which the thread that sleeps does not know yet
      {Who::engine_thread,
       [](const Lane& lane) { return lane.streams_.unwatched() ? lane.clock_.batch_time() : kNever; },
       nullptr},
      // memory of local peers that is to be mapped, or let go
      {Who::engine_thread,
       [](const Lane& lane) {
         return lane.peers_.any_map_requests() ? lane.clock_.batch_time() : lane.peers_.sweep_due();
       },
       nullptr},
  };
  using All = std::make_index_sequence<std::size(kRows)>;

  template <Who... who>
  static constexpr bool one_of(const Row& row) {
    return ((row.who == who) || ...);
  }
  /// When the first of these is due.
  template <Who... who>
  static TimePoint next(const Lane& lane) {
    return []<std::size_t... i>(const Lane& of, std::index_sequence<i...>) {
      return std::min({(one_of<who...>(kRows[i]) ? kRows[i].when(of) : kNever)...});
    }
    (lane, All());
  }
  /// Runs those steps that are due, in their order.
  template <Who... who>
  static void run_due(Lane& lane) {
    []<std::size_t... i>(Lane & of, std::index_sequence<i...>) { (run_row<i, who...>(of), ...); }
    (lane, All());
  }
  template <std::size_t i, Who... who>
  static void run_row(Lane& lane) {
    if constexpr (one_of<who...>(kRows[i]))
      if (kRows[i].when(lane) <= lane.clock_.batch_time()) kRows[i].run(lane);
  }
};

}  // namespace softrnic::engine
