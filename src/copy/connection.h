// One reliable connection: a queue pair of rdma_cm with its completion queue, receives and small messages;
// and more queue pairs for frames when both sides want them.
//
// Used by one thread. Nothing waits longer than its deadline, and everything that waits ends with
// Trouble::interrupted when the caller's stop descriptor becomes readable.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "copy/greeting.h"
#include "copy/queue_pair.h"
#include "copy/verbs.h"

namespace softrnic::copy {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Something that the peer sent: a message, or a frame that now lies in the ring.
struct Arrival {
  bool is_frame = false;
  std::uint32_t queue_pair = 0;  ///< on which it came
  std::uint32_t slot = 0;        ///< of a frame: immediate data
  std::uint32_t length = 0;      ///< of a frame
  Message message;
};

/// Memory of the peer.
struct RemotePlace {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

class Connection {
 public:
  /// Connects to `port` at `host` (a name or an address). `stop_fd` may be -1.
  static Result<std::unique_ptr<Connection>> dial(const std::string& host, std::uint16_t port, int stop_fd,
                                                  Deadline deadline);
  /// Accepts the connection that a listener got as `id`, whose events come to `events` from now on.
  static Result<std::unique_ptr<Connection>> accept(EventChannelPtr events, IdPtr id, int stop_fd,
                                                    Deadline deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ibv_pd* domain() const { return domain_.get(); }

  /// Whether the adapter lets queue pairs be connected without rdma_cm.
  bool can_have_more() const;
  /// Makes queue pairs until there are `count`, or fewer if more cannot be had: what the
  /// peer has to know of them.
  QueuePairNames add_queue_pairs(std::uint32_t count);
  /// Connects them with those of the peer; lets go of those that the peer has no counterpart for.
  Result<void> connect_queue_pairs(const QueuePairNames& own, const QueuePairNames& peer);
  /// From 1. Messages go over the first, 0.
  std::uint32_t queue_pairs() const { return static_cast<std::uint32_t>(queue_pairs_.size()); }

  Result<Serial> send(const Message& message, std::size_t padding = 0);
  Result<Serial> write(std::uint32_t queue_pair, Bytes from, std::uint32_t lkey, const RemotePlace& to);
  /// RDMA WRITE of a little-endian word, inline: the next value may be written before this one has arrived.
  Result<Serial> write_word(std::uint32_t queue_pair, std::uint64_t value, const RemotePlace& to);
  /// RDMA WRITE with immediate data `slot`.
  Result<Serial> write_frame(std::uint32_t queue_pair, Bytes from, std::uint32_t lkey, const RemotePlace& to,
                             std::uint32_t slot);
  Result<Serial> read(MutableBytes into, std::uint32_t lkey, const RemotePlace& from);
  bool is_done(const Serial& serial) const { return queue_pairs_[serial.queue_pair].is_done(serial.number); }
  bool all_done() const;

  /// Makes progress: returns when something arrived or completed, or at the deadline.
  Result<void> step(Deadline deadline);
  /// The same for who waits for a completion: what has arrived already does not count.
  Result<void> next_completion(Deadline deadline);
  /// Takes completions without waiting: false when there is none.
  bool poll() { return drain(); }
  /// Without waiting: whether the caller was asked to stop. For who never waits.
  Result<void> look_around();
  /// What arrived first and was not taken yet.
  std::optional<Arrival> take();

  /// How long `step` looks at the completion queue before it sleeps.
  void spin_for(Clock::duration time) { spin_ = time; }
  /// Waits until what was posted is done, for the peer to leave first.
  void linger(Deadline deadline);
  void disconnect() { rdma_disconnect(id_.get()); }
  /// "192.0.2.7:18873"
  std::string peer_name() const;
  /// Whether the peer has the address of this end.
  bool is_within_host() const;

 private:
  explicit Connection(int stop_fd) : stop_fd_(stop_fd) {}

  Result<void> resolve(const std::string& host, std::uint16_t port, Deadline deadline);
  Result<void> prepare();
  Result<Serial> post(std::uint32_t queue_pair, ibv_send_wr& wr);
  Result<Serial> post_one_sided(std::uint32_t queue_pair, ibv_send_wr wr, Bytes local, std::uint32_t lkey,
                                const RemotePlace& remote);
  Result<EventPtr> next_event(Deadline deadline);
  Result<void> expect(rdma_cm_event_type type, Deadline deadline, const std::string& what);
  bool drain();
  void complete(const ibv_wc& wc);
  void received(const ibv_wc& wc);
  Result<bool> wait_for_event(Deadline deadline);
  void look_at_events();
  void broke(std::string text);

  int stop_fd_;
  EventChannelPtr events_;
  DomainPtr domain_;
  CompletionChannelPtr completions_;
  CompletionQueuePtr queue_;
  Buffer receives_, messages_;
  IdPtr id_;  // after what its queue pair uses
  std::vector<QueuePairPtr> more_;
  std::vector<QueuePair> queue_pairs_;
  std::vector<Serial> message_serials_;
  std::uint32_t next_message_ = 0;
  std::deque<Arrival> arrivals_;
  std::optional<Error> failure_;
  bool peer_left_ = false;
  Clock::duration spin_{};
};

using ConnectionPtr = std::unique_ptr<Connection>;

/// Waits for clients.
class Listener {
 public:
  /// `address` empty: every address of the host. `port` 0: any, see port().
  static Result<Listener> open(const std::string& address, std::uint16_t port);
  std::uint16_t port() const;
  /// For poll(2): readable when `next` has something.
  int fd() const { return events_->fd; }
  /// A connection request. nullptr when the event was another.
  struct Request {
    EventChannelPtr events;
    IdPtr id;
  };
  Result<std::optional<Request>> next();

 private:
  EventChannelPtr events_;
  IdPtr id_;
};

}  // namespace softrnic::copy
