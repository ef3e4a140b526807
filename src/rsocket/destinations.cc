#include "rsocket/destinations.h"

#include <algorithm>

namespace softrnic::rsocket {

Destination* Destinations::find(const InetAddress& address) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  return &order_.front();
}

Destination& Destinations::add(const InetAddress& address, DatagramEndpoint& from) {
  if (order_.size() >= kMost) {
    const auto oldest = std::find_if(order_.rbegin(), order_.rend(),
                                     [](const Destination& one) { return one.may_be_forgotten(); });
    if (oldest != order_.rend()) {
      by_address_.erase(oldest->address);
      order_.erase(std::next(oldest).base());
    }
  }
  Destination& made = order_.emplace_front();
  made.address = address;
  made.from = &from;
  by_address_[address] = order_.begin();
  return made;
}

}  // namespace softrnic::rsocket
