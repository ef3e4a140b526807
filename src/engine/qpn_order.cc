#include "engine/qpn_order.h"

#include <sys/random.h>

namespace softrnic::engine {

QpnOrder::Key random_key() {
  QpnOrder::Key key{};
  for (auto& round : key) {
    // 256 bytes are given whole, whatever signals come. Without random numbers (seccomp) the order is a known
    // one.
    if (getrandom(round.data(), round.size(), GRND_NONBLOCK) < 0) break;
  }
  return key;
}

}  // namespace softrnic::engine
