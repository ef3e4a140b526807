// PortSamplesControl, PortSamplesResult and the extended result: counting for a time that is set (IBTA
// 16.1.3.2 – 16.1.3.4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/counter.h"
#include "mad/field.h"

namespace softrnic::mad {

inline constexpr std::size_t kSampleCounters = 15;

/// What a sample counter can be set to count.
enum class SampleCounter : std::uint16_t {
  none = 0,
  port_xmit_data = 1,
  port_rcv_data = 2,
  port_xmit_pkts = 3,
  port_rcv_pkts = 4,
  port_xmit_wait = 5,
};

enum class SampleStatus : std::uint8_t { done = 0, timer_running = 1, sampling = 2 };

struct PortSamplesControl {
  static constexpr std::uint16_t kAttribute = 0x0010;

  std::uint8_t op_code = 0;
  std::uint8_t port_select = 0;
  std::uint8_t tick = 0;                           ///< what a tick of SampleStart and PortXmitWait is
  std::uint8_t reserved3 = 0;                      ///< 5 bits
  std::uint8_t counter_width = 0;                  ///< 3 bits: 0 is 16 bits, 1 to 4 are 20, 24, 28, 32
  std::uint8_t reserved4 = 0;                      ///< 2 bits
  std::array<std::uint8_t, 10> counter_mask0_9{};  ///< 3 bits each: what the counter can be set to
  bool reserved8 = false;
  std::array<std::uint8_t, 5> counter_mask10_14{};
  std::uint8_t sample_mechanisms = 0;
  std::uint8_t reserved11 = 0;  ///< 6 bits
  SampleStatus sample_status{};
  std::uint64_t option_mask = 0;
  std::uint64_t vendor_mask = 0;
  std::uint32_t sample_start = 0;     ///< ticks until it begins
  std::uint32_t sample_interval = 0;  ///< ticks that it takes
  std::uint16_t tag = 0;              ///< given back by the result
  std::array<SampleCounter, kSampleCounters> counter_select{};
  std::uint32_t reserved68 = 0;
  std::uint64_t samples_only_option_mask = 0;
};
template <>
inline constexpr std::array fields_of<PortSamplesControl> = {
    field<&PortSamplesControl::op_code>("op_code", 0, 0, 8),
    field<&PortSamplesControl::port_select>("port_select", 1, 0, 8),
    field<&PortSamplesControl::tick>("tick", 2, 0, 8),
    field<&PortSamplesControl::reserved3>("reserved3", 3, 0, 5),
    field<&PortSamplesControl::counter_width>("counter_width", 3, 5, 3),
    field<&PortSamplesControl::reserved4>("reserved4", 4, 0, 2),
    field<&PortSamplesControl::counter_mask0_9>("counter_mask0_9", 4, 2, 30),
    field<&PortSamplesControl::reserved8>("reserved8", 8, 0, 1),
    field<&PortSamplesControl::counter_mask10_14>("counter_mask10_14", 8, 1, 15),
    field<&PortSamplesControl::sample_mechanisms>("sample_mechanisms", 10, 0, 8),
    field<&PortSamplesControl::reserved11>("reserved11", 11, 0, 6),
    field<&PortSamplesControl::sample_status>("sample_status", 11, 6, 2),
    field<&PortSamplesControl::option_mask>("option_mask", 12, 0, 64),
    field<&PortSamplesControl::vendor_mask>("vendor_mask", 20, 0, 64),
    field<&PortSamplesControl::sample_start>("sample_start", 28, 0, 32),
    field<&PortSamplesControl::sample_interval>("sample_interval", 32, 0, 32),
    field<&PortSamplesControl::tag>("tag", 36, 0, 16),
    field<&PortSamplesControl::counter_select>("counter_select", 38, 0, 240),
    field<&PortSamplesControl::reserved68>("reserved68", 68, 0, 32),
    field<&PortSamplesControl::samples_only_option_mask>("samples_only_option_mask", 72, 0, 64),
};
static_assert(covers<PortSamplesControl>(80));

struct PortSamplesResult {
  static constexpr std::uint16_t kAttribute = 0x0011;

  std::uint16_t tag = 0;
  std::uint16_t reserved2 = 0;  ///< 14 bits
  SampleStatus sample_status{};
  std::array<Counter<32>, kSampleCounters> counter{};
};
template <>
inline constexpr std::array fields_of<PortSamplesResult> = {
    field<&PortSamplesResult::tag>("tag", 0, 0, 16),
    field<&PortSamplesResult::reserved2>("reserved2", 2, 0, 14),
    field<&PortSamplesResult::sample_status>("sample_status", 3, 6, 2),
    field<&PortSamplesResult::counter>("counter", 4, 0, 480),
};
static_assert(covers<PortSamplesResult>(64));

struct PortSamplesResultExtended {
  static constexpr std::uint16_t kAttribute = 0x001e;

  std::uint16_t tag = 0;
  std::uint16_t reserved2 = 0;  ///< 14 bits
  SampleStatus sample_status{};
  std::uint8_t extended_width = 0;  ///< 2 bits: 1 is 48, 2 is 64 bits
  std::uint32_t reserved4 = 0;      ///< 30 bits
  std::array<Counter<64>, kSampleCounters> counter{};
};
template <>
inline constexpr std::array fields_of<PortSamplesResultExtended> = {
    field<&PortSamplesResultExtended::tag>("tag", 0, 0, 16),
    field<&PortSamplesResultExtended::reserved2>("reserved2", 2, 0, 14),
    field<&PortSamplesResultExtended::sample_status>("sample_status", 3, 6, 2),
    field<&PortSamplesResultExtended::extended_width>("extended_width", 4, 0, 2),
    field<&PortSamplesResultExtended::reserved4>("reserved4", 4, 2, 30),
    field<&PortSamplesResultExtended::counter>("counter", 8, 0, 960),
};
static_assert(covers<PortSamplesResultExtended>(128));

}  // namespace softrnic::mad
