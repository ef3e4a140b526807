#include "wire/link_icrc.h"

#include <algorithm>
#include <array>

#include "wire/crc32.h"
#include "wire/fields.h"

namespace softrnic::wire {

Icrc icrc_after_lrh(std::span<const std::byte, kLrhBytes> lrh) {
  using Fields = field::Lrh;
  std::array<std::byte, kLrhBytes> masked;
  std::copy(lrh.begin(), lrh.end(), masked.begin());
  Fields::Lane::store(masked.data(), Fields::Lane::load(masked.data()) | 0xf0);
  return Icrc(crc32_update(0xffffffff, masked));
}

Icrc icrc_after_grh(std::span<const std::byte, kGrhBytes> grh) {
  using Fields = field::Ipv6;
  std::array<std::byte, kGrhBytes> masked;
  std::copy(grh.begin(), grh.end(), masked.begin());
  Fields::Flow::store(masked.data(), Fields::Flow::load(masked.data()) | 0x0fffffff);
  Fields::HopLimit::store(masked.data(), 0xff);
  return Icrc(crc32_update(kIcrcAfterMaskedLrh, masked));
}

}  // namespace softrnic::wire
