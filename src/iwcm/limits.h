// How much the manager keeps, and for how long, so that strangers and programs cannot make it grow without
// end.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace softrnic::iwcm {

struct Limits {
  /// That are being set up: from the first TCP packet until the program has the stream.
  std::size_t connections = 8192;
  /// Of these, accepted by TCP and still without a whole request. The next one displaces the oldest.
  std::size_t half_open = 1024;
  Duration connect_timeout = std::chrono::seconds(30);         ///< for TCP's three messages
  Duration refused_retry = std::chrono::milliseconds(10);      ///< from a refusal to the next try
  Duration refused_patience = std::chrono::milliseconds(200);  ///< with a peer that does not listen yet
  Duration request_timeout = std::chrono::seconds(5);          ///< for a whole MPA request. siw's
  Duration reply_timeout = std::chrono::seconds(60);  ///< for a whole MPA reply: the peer's program decides
  Duration disconnect_timeout = std::chrono::seconds(10);  ///< from disconnect() to the end
};

}  // namespace softrnic::iwcm
