// The stream of one queue pair: moves bytes between its socket and its endpoint, and ends it as the endpoint
// wishes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "link/stream_faults.h"
#include "link/tcp_stream.h"
#include "rnic/queue_pair.h"
#include "rnic/stream_port.h"

namespace softrnic::engine {

class QpStream;

/// What the streams of a lane have in common.
struct StreamSurroundings {
  int epoll = -1;
  std::vector<QpStream*> ended;          ///< and nobody was told; room for all
  std::vector<QpStream*> stalled;        ///< by a fault; the same
  std::vector<QpStream*> waiting;        ///< for a receive; the same
  QpStream* delays = nullptr;            ///< a completion until its peer answers, or did so last
  std::atomic<bool> any_waiting{false};  ///< without the lock
  std::optional<link::StreamFaults> faults;
  link::StreamTap* tap = nullptr;
};

/// Not thread-safe: the lane's lock guards it.
class QpStream final : public rnic::StreamPort {
 public:
  /// Bytes read or written before others have their turn.
  static constexpr std::size_t kTurnBytes = 256 * 1024;

  QpStream(rnic::QueuePair& qp, StreamSurroundings& surroundings, const rnic::StreamStart& start)
      : qp_(qp), around_(surroundings), token_(start.token), carries_messages_(!start.same_host) {}
  QpStream(const QpStream&) = delete;
  QpStream& operator=(const QpStream&) = delete;

  /// Takes the socket, and the lane's epoll instance is told of what comes. 0; or what TcpStream::open()
  /// refuses or ran out, and `socket` is as before.
  int begin(UniqueFd& socket, const rnic::StreamStart& start);
  /// What epoll says of it: reads, a turn at most, what does not go straight to its place by way of
  /// `staging`. How often something came.
  std::size_t happened(std::uint32_t events, MutableBytes staging, TimePoint now);
  /// Whether a receive has come that it waited for, or it waits no more.
  bool goes_on(TimePoint now);
  /// Nothing more goes either way, if it has not ended already. What was written still arrives: its work
  /// requests are complete.
  void end();
  /// In a forked child: the descriptor is closed, and the connection stays the parent's.
  void abandon() { socket_.forget(); }
  /// When it goes on, if a fault has made it stand still.
  TimePoint stalled_until() const { return stalled_until_; }
  /// See StreamEndpoint. Of the streams of a lane one delays a completion, the last one that could.
  TimePoint delayed_until() const { return endpoint().delayed_until(); }
  void complete_delayed() { endpoint().complete_delayed(); }

  rnic::QueuePair& qp() const { return qp_; }
  std::uint64_t token() const { return token_; }
  bool is_open() const { return socket_.is_open(); }
  /// Those of its queue pair, or it is their lifeline.
  bool carries_messages() const { return carries_messages_; }

  // ---- rnic::StreamPort
  std::size_t write(TimePoint now) override;
  std::size_t emss() const override { return socket_.emss(); }
  wire::Gid peer() const override { return socket_.peer(); }

 private:
  iwarp::StreamEndpoint& endpoint() const { return qp_.stream_endpoint(); }
  std::size_t look(std::uint32_t events, MutableBytes staging, TimePoint now);
  std::size_t read(MutableBytes staging, std::size_t most, TimePoint now);
  std::size_t write_some(TimePoint now);
  void delay_completion();
  bool befallen(std::span<Bytes>& pieces, TimePoint now);
  void give_up(TimePoint now);
  Reason reason_of(int error) const;
  void failed(const Reason& reason, TimePoint now);
  void write_failed(int error, TimePoint now);
  void follow_wish(TimePoint now);
  void watch();
  void wait();
  void leave();

  rnic::QueuePair& qp_;
  link::TcpStream socket_;
  StreamSurroundings& around_;
  const std::uint64_t token_;
  const bool carries_messages_;
  TimePoint stalled_until_{};
  bool peer_writes_ = true;  ///< no end was read
  bool blocked_ = false;     ///< the socket takes no more for now
  bool waits_ = false;       ///< nothing is read until a receive is posted
  bool straight_ = false;    ///< payload is long enough to be read to its place
};

}  // namespace softrnic::engine
