// The Ethernet ports that raw packet queue pairs of a lane use. Nearly no lane has any.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/ethernet_port.h"

namespace softrnic::engine {

/// Not thread-safe, except where it says otherwise: the lane's lock guards it.
class EthernetPorts {
 public:
  EthernetPorts() = default;
  ~EthernetPorts();
  EthernetPorts(const EthernetPorts&) = delete;
  EthernetPorts& operator=(const EthernetPorts&) = delete;

  /// One more user of the netdev's port. Fails as EthernetPort::open() does; EMFILE.
  Expected<void, Failure> use(std::uint32_t interface_index);
  void release(std::uint32_t interface_index);

  /// A port that is in use.
  Expected<void, Failure> add(rnic::Flow& flow, std::uint32_t interface_index);
  void remove(const rnic::Flow& flow, std::uint32_t interface_index);

  void send(const ib::TxPacket& frame);
  /// Sends what is queued and calls lost(report) where frames were.
  template <typename Lost>
  void flush(Lost&& lost) {
    for (const auto& port : ports_) {
      port->sender().flush();
      if (const auto report = port->sender().take_report(); report.frames != 0) lost(report);
    }
  }
  /// See EthernetPort::receive(): of every port.
  template <typename Take>
  std::size_t receive(TimePoint now, Take&& take) {
    std::size_t frames = 0;
    for (const auto& port : ports_) {
      const bool waited = port->waits_for_receives();
      frames += port->receive(now, take);
      if (port->waits_for_receives() != waited) watch(*port);
    }
    return frames;
  }
  /// Frames wait for receives, which nobody announces; they do not make the descriptor readable meanwhile.
  bool waiting() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  std::uint32_t take_drops();
  /// In a forked child: the descriptors are closed.
  void abandon();

  // ---- without the lock

  /// Readable when receive() would find frames; -1: never.
  int readable_fd() const { return epoll_.load(std::memory_order_acquire); }
  bool readable() const;

 private:
  void watch(const EthernetPort& port);
  EthernetPort* find(std::uint32_t interface_index) const;

  std::vector<std::unique_ptr<EthernetPort>> ports_;
  std::atomic<int> waiting_{0};  ///< ports
  std::atomic<int> epoll_{-1};   ///< made with the first port, and kept
};

}  // namespace softrnic::engine
