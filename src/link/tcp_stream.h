// A connected TCP socket that carries FPDUs: reads and writes that never wait, and the ways to end it.
//
// Not thread-safe: the lane's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "link/stream_capture.h"
#include "wire/gid.h"

namespace softrnic::link {

class TcpStream {
 public:
  /// Pieces that one write() takes at most.
  static constexpr std::size_t kMaxPieces = 64;

  /// How a read or write went.
  struct Moved {
    std::size_t bytes = 0;
    bool ended = false;  ///< the peer writes no more
    int error = 0;       ///< errno; 0 with no bytes: nothing is there, or nothing more is taken, for now
  };

  /// Takes `socket` on success only: makes it non-blocking, closed on exec, and one that sends at once
  /// (TCP_NODELAY). 0, or errno: ENOTSOCK, EPROTOTYPE (not TCP), ENOTCONN, EMFILE. All is shown to `tap`,
  /// which outlives the stream; nullptr: to nobody. std::bad_alloc before anything is taken.
  int open(UniqueFd& socket, StreamTap* tap = nullptr);
  UniqueFd give_back() { return std::move(socket_); }

  int fd() const { return socket_.get(); }
  bool is_open() const { return static_cast<bool>(socket_); }
  const wire::Gid& peer() const { return flow_.destination; }
  /// Shows what MPA agreed upon.
  void show_begin(const iwarp::MpaAgreement& agreement, bool initiator);
  /// Bytes that a segment carries (TCP_MAXSEG).
  std::size_t emss() const;

  /// Whether the peer's TCP has acknowledged all that was written.
  bool all_acknowledged() const;

  /// Into `room`, and what comes behind that into `behind`. Either may be empty.
  Moved read(MutableBytes room, MutableBytes behind);
  /// As much of the pieces as is taken now; at most kMaxPieces of them.
  Moved write(std::span<const Bytes> pieces);

  /// No more is written. 0 or errno.
  int shut_down();
  /// What was written still arrives, as a rule: the kernel resets a connection that is closed with bytes
  /// unread, so those that have come are read first, up to a bound. What a peer sends later resets it all
  /// the same.
  void close();
  /// The same without a word of it: the descriptor goes, and the connection is another process's.
  void forget() { socket_.reset(); }
  /// The peer is told at once that the connection is no more (RST).
  void cut();

 private:
  template <typename Step>
  void show(Step&& step);

  UniqueFd socket_;
  wire::Flow flow_;  ///< of what is written
  std::unique_ptr<StreamCapture> capture_;
  bool shut_down_ = false;
};

}  // namespace softrnic::link
