// What the device advertises. Every figure can really be had (memory is touched only as it is used).
#pragma once

#include <cstdint>

namespace softrnic::rnic::limits {

inline constexpr std::uint32_t kMaxQps = 65000;  ///< a lane has 16 bits of QP index
inline constexpr std::uint32_t kMaxQpWrs = 16384;
inline constexpr std::uint32_t kMaxSges = 32;  ///< of send and receive work requests, and of SRQs
inline constexpr std::uint32_t kMaxInlineBytes = 1024;
inline constexpr std::uint32_t kMaxCqs = 65536;
inline constexpr std::uint32_t kMaxCqes = 1U << 22;
inline constexpr std::uint32_t kMaxMrs = 1U << 20;
inline constexpr std::uint32_t kMaxMws = 1U << 20;
inline constexpr std::uint64_t kDeviceMemoryBytes = 16U << 20;  ///< of a context
inline constexpr std::uint64_t kMaxMrBytes = std::uint64_t{1} << 62;
inline constexpr std::uint32_t kMaxPds = 65536;
inline constexpr std::uint32_t kMaxAhs = 1U << 20;
inline constexpr std::uint32_t kMaxSrqs = 65536;
inline constexpr std::uint32_t kMaxSrqWrs = 32768;
inline constexpr std::uint32_t kMaxTags =
    1024;  ///< tagged buffers of an SRQ: each message is compared with them
inline constexpr std::uint32_t kMaxTagOperations = 16384;  ///< of a list for ibv_post_srq_ops
inline constexpr std::uint32_t kMaxTagSges = 4;            ///< of a tagged buffer
inline constexpr std::uint32_t kMaxRendezvousHeader = 64;  ///< bytes of a request for rendezvous; as mlx5
inline constexpr std::uint32_t kMaxXrcDomains = 65536;
inline constexpr std::uint16_t kMaxTsoHeader = 256;
inline constexpr std::uint32_t kMaxTsoBytes = 96 * 1024;  ///< of payload
inline constexpr std::uint32_t kMaxWorkQueues = 65536;
inline constexpr std::uint32_t kMaxIndirectionTables = 65536;
inline constexpr std::uint32_t kMaxCompletionCounters = 65536;
inline constexpr std::uint8_t kMaxReadsPerQp = 128;  ///< max_qp_rd_atom and max_qp_init_rd_atom
inline constexpr std::uint32_t kMaxMulticastGroups = 1024;
inline constexpr std::uint32_t kMaxMulticastQps = 1024;  ///< per group
inline constexpr std::uint32_t kMaxMessageBytes = 1U << 31;
inline constexpr std::uint32_t kMaxDatagramMtu = 4096;
inline constexpr int kCompletionVectors = 4;
inline constexpr std::uint16_t kMaxModerationCount = 65535;  ///< completions an event; as mlx5
inline constexpr std::uint16_t kMaxModerationPeriod = 4095;  ///< microseconds; as mlx5, which has 12 bits
inline constexpr std::uint32_t kMinRateLimit = 1;            ///< kilobits per second
inline constexpr std::uint32_t kMaxRateLimit = 100'000'000;  ///< kilobits per second
inline constexpr std::uint8_t kPorts = 1;

}  // namespace softrnic::rnic::limits
