#include "samehost/local_peers.h"

#include <utility>

namespace softrnic::samehost {

std::unique_ptr<link::Link> LocalPeers::put_rings_before(std::unique_ptr<link::Link> link, UniqueFd doorbell,
                                                         EagerReceiver& eagers) {
  if (!direct_.slot()) return link;
  auto rings = std::make_unique<RingLink>(std::move(link), lane_, *share_, *direct_.slot(),
                                          std::move(doorbell), eagers);
  rings_ = rings.get();
  resolution_.use(*rings_);
  return rings;
}

void LocalPeers::abandon() {
  direct_.abandon();
  resolution_.abandon();
  rings_ = nullptr;
}

}  // namespace softrnic::samehost
