// Where other fabrics ask to be joined by a cable: a TCP port, and those who have not greeted yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/expected.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/acceptor.h"
#include "daemon/event_loop.h"
#include "fabricd/fabric_cables.h"
#include "fabricd/message_stream.h"

namespace softrnic::fabricd {

class JoinListener {
 public:
  static constexpr std::size_t kMostGreeting = 16;  ///< at a time; the oldest makes room
  static constexpr Duration kGreeting = std::chrono::seconds(5);

  /// Who knows the token gets a cable of `cables`, which has at least one; both outlive this object. A
  /// sentence: it cannot listen there.
  static Expected<std::unique_ptr<JoinListener>, std::string> open(daemon::EventLoop& loop,
                                                                   FabricCables& cables,
                                                                   const std::string& address,
                                                                   std::uint16_t port, std::string token);
  ~JoinListener();
  JoinListener(const JoinListener&) = delete;
  JoinListener& operator=(const JoinListener&) = delete;

  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  struct Greeting {
    std::unique_ptr<MessageStream> stream;
    CableNonce nonce;
    std::string peer;
    TimePoint ends;
  };

  JoinListener(daemon::EventLoop& loop, FabricCables& cables, UniqueFd listener, std::string token);
  void accepted(UniqueFd connection);
  void readable(int fd);
  void answer(Greeting greeting, const CableHello& hello);
  std::size_t place_for(std::uint8_t wanted) const;
  void drop(int fd);

  daemon::EventLoop& loop_;
  FabricCables& cables_;
  UniqueFd listener_;
  const std::string token_;
  std::map<int, Greeting> greetings_;
  daemon::Acceptor acceptor_;
};

}  // namespace softrnic::fabricd
