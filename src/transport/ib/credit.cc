#include "transport/ib/credit.h"

#include <bit>

namespace softrnic::ib {
namespace {

/// IBTA 9.7.7.2, the credit count of an AETH: 0, 1, and from then on each power of two and what is halfway to
/// the next.
constexpr std::uint8_t kCodes = 31;
constexpr std::uint32_t kMost = 32768;

}  // namespace

std::uint8_t credit_code(std::uint32_t receives) {
  if (receives < 2) return static_cast<std::uint8_t>(receives);
  if (receives >= kMost) return kCodes - 1;
  const auto power = static_cast<std::uint8_t>(std::bit_width(receives) - 1);
  const bool halfway = (receives >> (power - 1) & 1) != 0;
  return static_cast<std::uint8_t>(2 * power + (halfway ? 1 : 0));
}

std::optional<std::uint32_t> credits_of(std::uint8_t code) {
  if (code >= kCodes) return std::nullopt;
  if (code < 2) return code;
  return (2U + (code & 1)) << (code / 2 - 1);
}

}  // namespace softrnic::ib
