#include "cma/options.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/reason_id.h"

namespace softrnic::cma {
namespace {

std::optional<int> as_int(Bytes value) {
  int number = 0;
  if (value.size() != sizeof number) return std::nullopt;
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

std::optional<std::uint8_t> as_byte(Bytes value) {
  if (value.size() != 1) return std::nullopt;
  return std::to_integer<std::uint8_t>(value[0]);
}

Unexpected<Failure> bad_value(std::uint32_t option, Bytes value) {
  return Unexpected{refuse(EINVAL, ReasonId::cma_option_value, option, value.size())};
}

Expected<void, Failure> set_tos(Id& id, Bytes value) {
  const auto tos = as_byte(value);
  if (!tos) return bad_value(RDMA_OPTION_ID_TOS, value);
  id.tos = *tos;
  return {};
}

Expected<void, Failure> set_reuse_address(Id& id, Bytes value) {
  const auto reuse = as_int(value);
  if (!reuse) return bad_value(RDMA_OPTION_ID_REUSEADDR, value);
  // As Linux: it can be granted late, but not taken back from others who rely on it.
  const auto possible =
      *reuse != 0 ? Expected<void, Failure>{} : check_call(Call::set_reuse_address, id.state);
  if (possible) id.reuse_address = *reuse != 0;
  return possible;
}

Expected<void, Failure> set_family_only(Id& id, Bytes value) {
  const auto only = as_int(value);
  if (!only) return bad_value(RDMA_OPTION_ID_AFONLY, value);
  const auto possible = check_call(Call::set_address_family_only, id.state);
  if (possible) id.family_only = *only != 0;
  return possible;
}

Expected<void, Failure> set_ack_timeout(Id& id, Bytes value) {
  const auto timeout = as_byte(value);
  // a datagram is never acknowledged
  if (!timeout || *timeout > 31 || id.is_datagram()) return bad_value(RDMA_OPTION_ID_ACK_TIMEOUT, value);
  id.qp_timeout = *timeout;
  return {};
}

struct Option {
  std::uint32_t number;
  Expected<void, Failure> (*set)(Id& id, Bytes value);
};
constexpr Option kOptions[] = {{RDMA_OPTION_ID_TOS, set_tos},
                               {RDMA_OPTION_ID_REUSEADDR, set_reuse_address},
                               {RDMA_OPTION_ID_AFONLY, set_family_only},
                               {RDMA_OPTION_ID_ACK_TIMEOUT, set_ack_timeout}};

}  // namespace

Expected<void, Failure> set_option(Id& id, std::uint32_t option, Bytes value) {
  for (const Option& known : kOptions)
    if (known.number == option) return known.set(id, value);
  return Unexpected{refuse(ENOSYS, ReasonId::cma_option, RDMA_OPTION_ID, option)};
}

}  // namespace softrnic::cma
