// What the ICRC of a packet costs beside copying the same bytes: ratios, as absolute figures vary with the
// machine.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "wire/crc32.h"
#include "wire/headers.h"
#include "wire/icrc.h"

namespace {

using namespace softrnic;
using Clock = std::chrono::steady_clock;

wire::Flow ipv4_flow() {
  wire::Flow flow;
  flow.source = wire::Gid::from_ipv4_be(0x0100000a);
  flow.destination = wire::Gid::from_ipv4_be(0x0200000a);
  return flow;
}

struct Subject {
  explicit Subject(std::size_t size) : payload(size, std::byte{0x5a}), copy(size), flow(ipv4_flow()) {
    wire::Headers headers;
    headers.bth.opcode = wire::Opcode::rc_write_only;
    header_size = wire::encode(headers, header);
  }
  std::uint32_t icrc() {
    wire::Icrc crc(start.of(flow, header_size + payload.size() + wire::kIcrcBytes), 0);
    crc.add_headers(Bytes(header, header_size));
    crc.add(payload);
    return crc.value();
  }

  std::byte header[wire::kMaxHeaderBytes];
  std::size_t header_size = 0;
  std::vector<std::byte> payload;
  std::vector<std::byte> copy;
  wire::Flow flow;
  wire::LastIcrcStart start;
};

// Both are timed in the same loop, a batch of each in turn, so that a change of clock speed hits both alike.
void icrc_beside_memcpy(benchmark::State& state) {
  Subject subject(static_cast<std::size_t>(state.range(0)));
  constexpr int kBatch = 64;
  Clock::duration icrc{};
  Clock::duration copy{};
  for (auto _ : state) {
    const auto start = Clock::now();
    for (int i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(subject.icrc());
    const auto middle = Clock::now();
    for (int i = 0; i < kBatch; ++i) {
      std::memcpy(subject.copy.data(), subject.payload.data(), subject.payload.size());
      benchmark::DoNotOptimize(subject.copy.data());
      benchmark::ClobberMemory();
    }
    icrc += middle - start;
    copy += Clock::now() - middle;
  }
  const double packets = static_cast<double>(state.iterations()) * kBatch;
  const auto ns = [](Clock::duration d) { return std::chrono::duration<double, std::nano>(d).count(); };
  state.counters["icrc_ns"] = ns(icrc) / packets;
  state.counters["memcpy_ns"] = ns(copy) / packets;
  state.counters["icrc/memcpy"] = ns(icrc) / ns(copy);
}
BENCHMARK(icrc_beside_memcpy)->Arg(64)->Arg(1 << 10)->Arg(4 << 10)->Arg(64 << 10);

// The bare CRC around the size where crc32_update changes its method.
void crc32_of(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::uint32_t crc = 0;
  for (auto _ : state) benchmark::DoNotOptimize(crc = wire::crc32_update(crc, bytes));
}
BENCHMARK(crc32_of)->Arg(12)->Arg(28)->Arg(48)->Arg(63)->Arg(64)->Arg(128)->Arg(256);

void solving_ip_id(benchmark::State& state) {
  const Subject subject(static_cast<std::size_t>(state.range(0)));
  const std::size_t size = subject.header_size + subject.payload.size() + wire::kIcrcBytes;
  std::uint32_t received = 0x12345678;
  for (auto _ : state) benchmark::DoNotOptimize(wire::solve_ip_id(++received, 0x9abcdef0, size));
}
BENCHMARK(solving_ip_id)->Arg(64)->Arg(4 << 10);

}  // namespace

BENCHMARK_MAIN();
