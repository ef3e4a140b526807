// Input: an IPv4 identification, a claimed ICRC, addresses, ports, then the UDP payload without ICRC. The
// identification is always solved for; any other solution has to be one that yields the claimed ICRC.
#include <vector>

#include "fuzz/check.h"
#include "wire/icrc.h"

using namespace softrnic;

namespace {

std::uint32_t icrc_of(const wire::Flow& flow, Bytes covered, std::uint16_t id) {
  wire::Icrc icrc(flow, covered.size() + 4, id);
  icrc.add_headers(covered);
  return icrc.value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto id = input.take<std::uint16_t>();
  const auto claimed = input.take<std::uint32_t>();
  wire::Flow flow;
  flow.source = wire::Gid::from_ipv4_be(input.take<std::uint32_t>());
  flow.destination = wire::Gid::from_ipv4_be(input.take<std::uint32_t>());
  flow.source_port = input.take<std::uint16_t>();
  const Bytes covered = input.take_bytes(65503);  // with ICRC the most that IPv4 carries over UDP
  const std::uint32_t with_zero = icrc_of(flow, covered, 0);
  FUZZ_CHECK(wire::solve_ip_id(with_zero, icrc_of(flow, covered, id), covered.size() + 4) == id);
  const int solved = wire::solve_ip_id(with_zero, claimed, covered.size() + 4);
  FUZZ_CHECK(solved >= -1 && solved <= 0xffff);
  if (solved >= 0) FUZZ_CHECK(icrc_of(flow, covered, static_cast<std::uint16_t>(solved)) == claimed);
  return 0;
}
