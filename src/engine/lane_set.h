// The lanes of a process with their threads: opened together when the first queue pair asks for one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "control/client.h"
#include "control/page_writer.h"
#include "engine/engine_thread.h"
#include "engine/lane.h"
#include "engine/lane_handover.h"
#include "engine/peer_resolver.h"
#include "link/capture_file.h"
#include "link/fault_plan.h"
#include "samehost/direct_share.h"

namespace softrnic::engine {

class LaneSet {
 public:
  explicit LaneSet(control::PageWriter& page) : page_(page) {}

  /// EINVAL: SOFTRNIC_FAULTS cannot be understood.
  static Expected<void, control::Error> check_settings();

  bool empty() const { return lanes_.empty(); }
  /// Takes as many lanes as SOFTRNIC_LANES says from the daemon, at least one, and starts their threads.
  Expected<void, control::Error> open(const std::shared_ptr<control::Client>& daemon,
                                      const std::vector<device::GidEntry>& addresses);
  /// Stops the threads, closes the sockets and gives the lanes back. False, and nothing is done, while
  /// queue pairs live on them.
  bool close(control::Client* daemon);
  /// The lane for a new queue pair; requires !empty(). Takes turns.
  Lane& first() { return *lanes_.front().lane; }
  Lane& next() { return *lanes_[turn_++ % lanes_.size()].lane; }
  void set_addresses(const std::vector<device::GidEntry>& addresses);
  /// The lanes' daemon has died, and this one knows them: from now on it is asked. False: it does not.
  bool return_to(const std::shared_ptr<control::Client>& daemon);
  /// Of the lanes until the next close().
  const std::shared_ptr<LaneHandover>& handover() const { return handover_; }
  /// Of their iWARP connections.
  StreamEnds& stream_ends() { return stream_ends_; }

  /// Returns when no thread of any process is at the memory of a region that has lost its key.
  void quiesce();
  /// In a forked child, which has neither the share nor the lanes of its parent.
  void forget();

  template <typename F>
  void for_each(F&& f) {
    for (Entry& entry : lanes_) f(*entry.lane);
  }

 private:
  /// Whom peer resolvers ask: after a daemon that has died, the next.
  class CurrentDaemon {
   public:
    void set(std::shared_ptr<control::Client> daemon) {
      const std::lock_guard lock(mutex_);
      daemon_.swap(daemon);
    }
    std::shared_ptr<control::Client> get() {
      const std::lock_guard lock(mutex_);
      return daemon_;
    }

   private:
    std::mutex mutex_;
    std::shared_ptr<control::Client> daemon_;
  };

  struct Entry {
    std::unique_ptr<Lane> lane;
    std::unique_ptr<EngineThread> thread;
    std::unique_ptr<PeerResolver> peer_resolver;
  };

  /// Makes what SOFTRNIC_FAULTS and SOFTRNIC_CAPTURE ask for; says what cannot be used.
  void read_settings();
  std::unique_ptr<link::Link> make_link(control::LaneGrant& lane);
  std::optional<link::FaultPlan> plan_of(std::uint8_t lane) const;
  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int start(control::LaneGrant& taken, const std::vector<device::GidEntry>& addresses);

  /// Tells each lane of the others.
  void introduce();
  /// Makes what local peers may see, and hands it to the daemon.
  void make_share();
  void show_share(control::Client& daemon);

  control::PageWriter& page_;
  std::unique_ptr<samehost::DirectShare> share_;  ///< nullptr: everything goes by UDP
  const std::shared_ptr<CurrentDaemon> daemon_ = std::make_shared<CurrentDaemon>();
  StreamEnds stream_ends_;
  std::vector<Entry> lanes_;
  std::shared_ptr<LaneHandover> handover_ = std::make_shared<LaneHandover>();
  std::size_t turn_ = 0;
  std::unique_ptr<link::CaptureFile> capture_;
  std::optional<link::FaultPlan> faults_;
};

}  // namespace softrnic::engine
