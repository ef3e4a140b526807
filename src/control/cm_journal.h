// What a process has asked of the connection manager that the next daemon can be told again, and the numbers
// under which the process knows it: those stay, whatever numbers the next daemon gives.
//
// Channels, ids without a peer (made, bound, listening) and their options are told again. What two sides know
// of a connection is lost with the daemon: such an id is unknown from then on (ENOENT), and who waits for the
// outcome of a call hears that it failed. Events that the program wrote itself and has not fetched come all
// the same: somebody may wait to be woken by them.
//
// Not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "control/cm_messages.h"
#include "rnic/event_count.h"

namespace softrnic::control {

class Client;

class CmJournal {
 public:
  struct Channel {
    std::uint32_t number = 0;             ///< the daemon's; 0: it knows none
    rnic::EventCount* count = nullptr;    ///< of the events here and there; stays the caller's
    std::uint32_t withdrawn = 0;          ///< CmEventReply::withdrawn, as far as it was told
    std::deque<CmEventReply> own_events;  ///< go before the daemon's

    /// How many more the daemon has withdrawn than was known.
    std::uint32_t news(std::uint32_t withdrawn);
  };
  struct Written {
    CmWriteEvent event;      ///< with the id as the process knows it
    bool confirmed = false;  ///< a daemon has taken it; until then whoever writes it asks again by himself
  };
  struct Id {
    CmNumber number = 0;        ///< the daemon's; 0: it knows none
    CmCreateId creation;        ///< with the channel as the process knows it
    bool has_peer = false;      ///< more was asked than can be told again
    std::uint32_t awaited = 0;  ///< rdma_cm_event_type that tells the failure of the call under way; 0: none
    std::optional<sockaddr_storage> bound;
    std::optional<std::int32_t> backlog;
    std::vector<CmSetOption> options;
    std::deque<Written> written;  ///< not fetched yet
  };

  /// The numbers of this process for what the daemon has made; `creation` and all else as the process said
  /// it.
  std::uint32_t add_channel(std::uint32_t daemons, rnic::EventCount& count);
  CmNumber add_id(CmNumber daemons, const CmCreateId& creation);
  CmNumber add_membership(CmNumber daemons);
  void remove_channel(std::uint32_t channel);
  void remove_id(CmNumber id);
  void remove_membership(CmNumber membership);

  /// nullptr: there is none of that number.
  Channel* channel(std::uint32_t number);
  Id* id(CmNumber number);
  /// The daemon's numbers; 0, which nothing has, where it knows none.
  std::uint32_t daemons_channel(std::uint32_t number);
  CmNumber daemons_id(CmNumber number);
  CmNumber daemons_membership(CmNumber number) const;

  /// Takes what the daemon has withdrawn (CmEventReply::withdrawn) from the channel's count.
  void withdraw(std::uint32_t channel, std::uint32_t withdrawn);
  /// The same, when somebody has taken one from the count and there was no event.
  void found_none(std::uint32_t channel, std::uint32_t withdrawn);
  /// Where the id's events go, as the process knows it; 0: there is no such id.
  std::uint32_t channel_of(CmNumber id);

  /// Puts the process's numbers in place of the daemon's, and notes what the event ends.
  void translate(CmEventReply& event, std::uint32_t channel);

  /// No daemon knows it, and it was not destroyed.
  bool is_lost(CmNumber number);

  /// Queues an event (rdma_cm_event_type) about an id that no daemon knows.
  void say(CmNumber id, std::uint32_t event);
  void say(const CmWriteEvent& event);

  // ---- of a written event, in this order; the last when the daemon has refused it
  void note_written(const CmWriteEvent& event);
  void confirm_written(const CmWriteEvent& event);
  void forget_written(const CmWriteEvent& event);

  /// Tells a new daemon. False: it went away meanwhile. What it refuses counts as lost.
  bool tell(Client& daemon);

 private:
  bool tell_channel(Client& daemon, Channel& channel);
  bool tell_id(Client& daemon, CmNumber number, Id& id);
  /// False: `daemon` has gone. A refusal leaves the id without a number.
  bool tell_state(Client& daemon, Id& id);
  void lose(CmNumber number, Id& id);
  void say_written(Id& id);
  void put(CmEventReply event);

  std::map<std::uint32_t, Channel> channels_;
  std::map<CmNumber, Id> ids_;
  std::map<CmNumber, CmNumber> own_ids_;  ///< by the daemon's number
  std::map<CmNumber, CmNumber> memberships_;
  std::map<CmNumber, CmNumber> own_memberships_;
};

}  // namespace softrnic::control
