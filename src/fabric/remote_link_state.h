// Both ends of a link come up and go down together, although what they tell each other takes its time: the
// hand-shake of a cable between two fabric processes, for one of its ends.
//
// Each end tells how often it has gone down, which of the other's numbers it knows, and whether it is ready.
// It may be up while both are ready and the other end knows its number. An end that hears of another number
// goes down. So a period in which the link is up belongs to a pair of numbers, and where what is told keeps
// its order, no packet of one period is taken in another.
#pragma once

#include <cstdint>
#include <optional>

namespace softrnic::fabric {

/// What an end tells whenever it changes.
struct RemoteLinkStatus {
  std::uint32_t epoch = 1;  ///< counts how often this end has gone down, or was not ready any more
  std::uint32_t heard = 0;  ///< the latest of the other end; 0: none yet
  bool ready = false;       ///< the cable is plugged in and the port enabled

  bool operator==(const RemoteLinkStatus&) const = default;
};

class RemoteLinkState {
 public:
  const RemoteLinkStatus& own() const { return own_; }

  void set_ready(bool ready);
  /// The link was up at this end.
  void went_down() { next_epoch(); }
  /// The way to the other end is another now, and nothing is known of it.
  void forget_peer();
  /// True: this end has to go down, if it is up, before it may be up again.
  bool hear(const RemoteLinkStatus& status);
  bool may_be_up() const;

 private:
  void next_epoch();

  RemoteLinkStatus own_;
  std::optional<RemoteLinkStatus> peer_;
};

}  // namespace softrnic::fabric
