// The TCP of the daemon: sockets that listen and sockets on which iWARP connections are being set up, until a
// program takes them. What is said on them iwcm knows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "base/time.h"
#include "base/unique_fd.h"
#include "iwcm/manager.h"

namespace softrnic::daemon {

class TcpStreams final : public iwcm::Streams {
 public:
  TcpStreams();
  TcpStreams(const TcpStreams&) = delete;
  TcpStreams& operator=(const TcpStreams&) = delete;

  // ---- iwcm::Streams. IPv6 sockets are IPv6's alone; addresses need not be there yet (RFC 4862 5.4).
  Expected<void, Failure> listen(iwcm::ListenerId listener, const iwcm::Listening& listening) override;
  void unlisten(iwcm::ListenerId listener) override;
  Expected<void, Failure> open(iwcm::Id stream, const iwcm::Endpoint& from, const iwcm::Endpoint& to,
                               std::uint8_t tos) override;
  bool write(iwcm::Id stream, Bytes bytes) override;
  void hand_over(iwcm::Id stream) override;
  void close(iwcm::Id stream) override;

  /// The socket of a stream that was handed over; from then on this object has nothing to do with it. Empty:
  /// there is none.
  UniqueFd take(iwcm::Id stream);

  /// Readable when progress() has something to do; -1: descriptors ran out.
  int readable_fd() const { return epoll_.get(); }
  /// Tells `manager` what has happened.
  void progress(iwcm::Manager& manager, TimePoint now);
  /// Listens again where descriptors or memory ran out a moment ago, or the program had enough to answer.
  void advance(TimePoint now);
  TimePoint deadline() const { return paused_.empty() ? kNever : resumes_; }

  std::size_t listeners() const { return listeners_.size(); }
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Stream {
    UniqueFd socket;
    bool connecting = false;
    int error = 0;  ///< of connect()
  };
  struct Listener {
    UniqueFd socket;
    iwcm::Endpoint at;
    std::uint8_t tos = 0;
  };

  bool watch(int fd, std::uint64_t key, std::uint32_t events);
  void accept(iwcm::ListenerId listener, iwcm::Manager& manager, TimePoint now);
  /// Nobody looks at this listener until then.
  void pause(std::uint32_t listener, TimePoint until);
  /// False: for now this listener takes no more.
  bool accept_one(iwcm::ListenerId listener, iwcm::Manager& manager, TimePoint now);
  void connected(iwcm::Id id, iwcm::Manager& manager, TimePoint now);
  void read(iwcm::Id id, iwcm::Manager& manager, TimePoint now);
  /// False: there is no more to be read now.
  bool read_once(iwcm::Id id, iwcm::Manager& manager, TimePoint now);

  UniqueFd epoll_;
  std::unordered_map<std::uint32_t, Listener> listeners_;  ///< by iwcm::ListenerId
  std::unordered_map<std::uint32_t, Stream> streams_;      ///< by iwcm::Id
  std::set<std::uint32_t> paused_;                         ///< listeners that are not watched
  TimePoint resumes_ = kNever;
};

}  // namespace softrnic::daemon
