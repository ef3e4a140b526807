// Writes a pcapng capture with one packet of every opcode on IPv4 and IPv6, and prints the names in the same
// order.
#include <cstdio>
#include <vector>

#include "tests/support/synthetic.h"
#include "wire/pcapng.h"

int main(int argc, char** argv) {
  using namespace softrnic;
  if (argc != 2) return 2;
  wire::CaptureBuffer out;
  wire::append_section(out, "softrnic test");
  wire::append_interface(out, "soft0");
  std::uint64_t time_ns = 1'700'000'000'000'000'000;
  for (const bool ipv6 : {false, true}) {
    for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
      const std::vector<std::byte> payload(testing::sample_payload(info.payload), std::byte{0xa5});
      const auto frame =
          testing::build_frame(testing::sample_frame(ipv6), testing::sample_headers(info.opcode), payload);
      const Bytes pieces[] = {Bytes(frame).first(42), Bytes(frame).subspan(42)};
      wire::append_packet(out, {0, time_ns += 1001, wire::CaptureDirection::outbound, info.name}, pieces);
      std::printf("%d %.*s\n", static_cast<int>(info.opcode), static_cast<int>(info.name.size()),
                  info.name.data());
    }
  }
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 1;
  const bool written = std::fwrite(out.data(), 1, out.size(), file) == out.size();
  return std::fclose(file) == 0 && written ? 0 : 1;
}
