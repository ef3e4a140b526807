// The TCP of hosts that tests control: who listens where, and what is under way on which connection.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "iwcm/manager.h"

namespace softrnic::cma {

class Tcp {
 public:
  /// One host's.
  class Side final : public iwcm::Streams {
   public:
    Side(Tcp& tcp, std::function<iwcm::Manager&()> manager) : tcp_(tcp), manager_(std::move(manager)) {}
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    Expected<void, Failure> listen(iwcm::ListenerId listener, const iwcm::Listening& listening) override;
    void unlisten(iwcm::ListenerId listener) override;
    Expected<void, Failure> open(iwcm::Id stream, const iwcm::Endpoint& from, const iwcm::Endpoint& to,
                                 std::uint8_t tos) override;
    bool write(iwcm::Id stream, Bytes bytes) override;
    void hand_over(iwcm::Id stream) override { handed_over.push_back(stream); }
    void close(iwcm::Id stream) override;

    /// The stream becomes the program's: this host does not see what happens to it any more.
    void take(iwcm::Id stream);
    /// What has come on it and was not read.
    std::string inbox(iwcm::Id stream) const;
    std::size_t open_streams() const { return ends_.size(); }
    std::size_t listening() const { return listeners_.size(); }
    std::vector<iwcm::Id> handed_over;
    int refuse_to_listen = 0;  ///< errno
    wire::Gid refuse_at;       ///< there alone; zero: everywhere
    bool broken = false;       ///< write() fails

   private:
    friend class Tcp;
    Tcp& tcp_;
    std::function<iwcm::Manager&()> manager_;
    std::map<iwcm::ListenerId, iwcm::Endpoint> listeners_;
    std::map<iwcm::Id, std::pair<std::size_t, int>> ends_;  ///< pipe, and which end of it
  };

  /// Does one thing that is under way. False: nothing is.
  bool deliver();

  TimePoint now{};
  std::size_t piece = 1000;     ///< bytes that come at once
  bool silent = false;          ///< no connection comes about, and none is refused
  std::size_t connections = 0;  ///< that were opened

 private:
  struct End {
    Side* side = nullptr;
    iwcm::Id stream{};
    std::deque<std::byte> inbox;
    bool closed = false;  ///< this end
    bool told = false;    ///< of the other's end
  };
  struct Pipe {
    End ends[2];
    iwcm::Endpoint from, to;
    bool open = false;
  };

  bool connect(std::size_t number);
  bool deliver(Pipe& pipe, int end);

  std::map<std::size_t, Pipe> pipes_;
  std::size_t next_ = 1;
  std::uint16_t next_port_ = 40000;
  std::vector<Side*> sides_;
};

}  // namespace softrnic::cma
