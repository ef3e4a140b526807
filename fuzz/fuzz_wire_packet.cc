// Input: what follows the UDP header, without ICRC. What parses has to re-encode to the
// same bytes and to print.
#include <algorithm>

#include "fuzz/check.h"
#include "wire/headers.h"
#include "wire/print.h"

using namespace softrnic;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto packet = wire::parse(bytes);
  if (!packet) return 0;
  FUZZ_CHECK(packet->info == wire::find_opcode(data[0]));
  std::byte headers[wire::kMaxHeaderBytes];
  const std::size_t header_size = wire::encode(packet->headers, headers);
  FUZZ_CHECK(header_size <= size);
  FUZZ_CHECK(std::equal(headers, headers + header_size, bytes.begin()));
  FUZZ_CHECK(packet->payload.data() == bytes.data() + header_size);
  FUZZ_CHECK(header_size + packet->payload.size() + packet->headers.bth.pad == size);
  const std::string line = wire::to_string(*packet);
  FUZZ_CHECK(line.starts_with(packet->info->name));
  FUZZ_CHECK(line.find('\n') == std::string::npos);
  return 0;
}
