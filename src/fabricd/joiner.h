// The side that joins another fabric: its first connection, and the next ones when that is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/time.h"
#include "daemon/event_loop.h"
#include "fabricd/fabric_cable.h"
#include "fabricd/join_attempt.h"

namespace softrnic::fabricd {

class Joiner {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(5);  ///< of one attempt
  static constexpr Duration kPause = std::chrono::seconds(1);     ///< between two

  /// Joins the fabric that listens there; waits for it. A sentence: why it cannot.
  static Expected<std::unique_ptr<Joiner>, std::string> join(const std::string& host, std::uint16_t port,
                                                             std::string token);
  ~Joiner();
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

  /// Of the fabric that has joined.
  std::uint8_t index() const { return index_; }
  /// Gives the connection to the cable, and whenever it has none a new one. Both outlive this object.
  void keep(daemon::EventLoop& loop, FabricCable& cable);

  // Behind keep().
  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  Joiner(const TcpAddress& to, std::string token) : to_(to), token_(std::move(token)) {}
  Expected<void, std::string> try_now();
  void begin(TimePoint now);
  void watch();
  void end_attempt(TimePoint now);

  const TcpAddress to_;
  const std::string token_;
  std::uint8_t index_ = 0;
  std::unique_ptr<MessageStream> first_;
  daemon::EventLoop* loop_ = nullptr;
  FabricCable* cable_ = nullptr;
  std::optional<JoinAttempt> attempt_;
  TimePoint due_ = kNever;  ///< the attempt ends, or the next one begins
};

}  // namespace softrnic::fabricd
