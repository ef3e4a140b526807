// Long answers of the subnet administrator, and the few requests that come by RMPP (IBTA 13.6, 15.3). What
// all of them hold is bounded, and what one port's hold as well, so that one that never confirms anything
// keeps no other from its answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "mad/rmpp_receiver.h"
#include "mad/rmpp_sender.h"
#include "subnet/datagrams.h"

namespace softrnic::subnet {

class SaTransfers {
 public:
  static constexpr std::size_t kMost = 512;
  static constexpr std::size_t kMostOfPort = 32;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMostRequestBytes = 4096;

  explicit SaTransfers(DatagramPort& port) : port_(port) {}

  /// Begins to send a message: all headers, and then its data. False: there is no room.
  bool send(const DatagramAddress& to, std::uint64_t transaction, std::vector<std::byte> message,
            TimePoint now);
  /// Whether an answer of that transaction is on its way.
  bool is_sending(const DatagramAddress& to, std::uint64_t transaction) const {
    return sending_.contains(key_of(to, transaction));
  }
  /// A datagram with an active RMPP header. A request that is whole by it, with all headers once.
  std::optional<std::vector<std::byte>> receive(const DatagramAddress& from, const mad::Mad& mad,
                                                TimePoint now);
  void advance(TimePoint now);
  TimePoint deadline() const;
  void clear();
  std::size_t size() const { return sending_.size() + receiving_.size(); }

 private:
  struct Key {
    Lid lid;
    Qpn qpn;
    std::uint64_t transaction = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Sending {
    DatagramAddress to;
    std::size_t bytes = 0;
    mad::RmppSender sender;
  };
  struct Receiving {
    DatagramAddress from;
    mad::RmppReceiver receiver;
  };
  static Key key_of(const DatagramAddress& address, std::uint64_t transaction) {
    return {address.lid, address.qpn, transaction};
  }
  bool has_room(Lid lid) const;
  template <typename Transfer>
  void flush(const DatagramAddress& to, Transfer& transfer, TimePoint now);

  DatagramPort& port_;
  std::map<Key, Sending> sending_;
  std::map<Key, Receiving> receiving_;
  std::size_t bytes_ = 0;
};

}  // namespace softrnic::subnet
