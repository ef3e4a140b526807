#include "control/mad_ca.h"

#include <algorithm>

namespace softrnic::control {

const MadPort* MadCa::port(std::uint32_t number) const {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [number](const MadPort& each) { return each.number == number; });
  return found == ports.end() ? nullptr : &*found;
}

}  // namespace softrnic::control
