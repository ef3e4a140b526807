#include "wire/erf_header.h"

#include <cstring>

#include "wire/fields.h"

namespace softrnic::wire {
namespace {

// The timestamp, the only field that is little-endian, counts seconds in its upper and their 2^-32 parts in
// its lower half.
struct Fields {
  static constexpr std::size_t kTimestamp = 0;
  using Type = Field<8, 1>;
  using Flags = Field<9, 1>;
  using RecordLength = Field<10, 2>;  ///< with this header
  using LossCounter = Field<12, 2>;
  using WireLength = Field<14, 2>;
};
constexpr std::uint8_t kVaryingLength = 0x04;

std::uint64_t timestamp_of(std::uint64_t time_ns) {
  constexpr std::uint64_t second = 1'000'000'000;
  return time_ns / second << 32 | (time_ns % second << 32) / second;
}

}  // namespace

void encode_erf_header(ErfType type, std::uint64_t time_ns, std::size_t bytes,
                       std::span<std::byte, kErfHeaderBytes> out) {
  std::byte* const p = out.data();
  const std::uint64_t timestamp = timestamp_of(time_ns);
  std::memcpy(p + Fields::kTimestamp, &timestamp, sizeof timestamp);
  Fields::Type::store(p, static_cast<std::uint8_t>(type));
  Fields::Flags::store(p, kVaryingLength);
  Fields::RecordLength::store(p, static_cast<std::uint16_t>(kErfHeaderBytes + bytes));
  Fields::LossCounter::store(p, 0);
  Fields::WireLength::store(p, static_cast<std::uint16_t>(bytes));
}

}  // namespace softrnic::wire
