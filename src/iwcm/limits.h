// How much the manager keeps, and for how long, so that neither strangers nor programs nor users can make it
// grow without end, or take what others need.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace softrnic::iwcm {

struct Limits {
  /// Connections that have a socket here, or are to have one: from connect() or TCP's first packet until the
  /// program has taken the stream. Each side has its own share, so that peers cannot keep programs from
  /// connecting.
  std::size_t active = 4096;
  std::size_t passive = 4096;
  /// Of one user, with the addresses that it listens at.
  std::size_t of_user = 8192;
  /// Connects of one user that wait until there is room.
  std::size_t queued_of_user = 16384;
  /// At one listener, unless its program asks for a larger backlog: what Linux grants who asks for none
  /// (net.rdma_ucm.max_backlog). Half of it may be accepted by TCP and still without a whole request; then
  /// the next one displaces the oldest. When the other half are requests that the program has not answered,
  /// no more are taken from TCP's queue, and beyond all of it requests are rejected.
  std::size_t least_backlog = 1024;
  Duration connect_timeout =
      std::chrono::seconds(30);  ///< for TCP's three messages, and for room before them
  Duration refused_retry = std::chrono::milliseconds(10);      ///< from a refusal to the next try
  Duration refused_patience = std::chrono::milliseconds(200);  ///< with a peer that does not listen yet
  Duration request_timeout = std::chrono::seconds(5);          ///< for a whole MPA request. siw's
  Duration answer_timeout = std::chrono::seconds(70);  ///< of the program; then no peer waits any more
  Duration reply_timeout = std::chrono::seconds(60);   ///< for a whole MPA reply: the peer's program decides
  Duration disconnect_timeout = std::chrono::seconds(10);  ///< from disconnect() to the end
};

}  // namespace softrnic::iwcm
