// The control page: what a process shows of itself to `softrnic stat`, `resource` and `explain`.
//
//   PageHeader | PageLane × kPageLanes | PageExplanation × kPageExplanations | PageQp × kPageQps |
//   PageQpReasons × kPageQps
//
// One memfd a process, written by it and mapped read-only by readers. The layout is fixed and versioned; a
// reader believes nothing it reads: it takes sizes from here, never from the page (see page_reader.h).
//
// Memory order: every record has a sequence number, odd while its writer is at it; a reader takes a copy only
// when the number was even, and the same before and after (page_record.h). Figures that stand alone
// (counters) are written and read relaxed. The file is sparse: rows that were never used cost no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/explanation_history.h"
#include "base/reason.h"
#include "transport/ib/types.h"

namespace softrnic::control {

inline constexpr std::uint64_t kPageMagic = 0x31'65'67'61'70'63'6e'72;  ///< "rncpage1"
inline constexpr std::uint32_t kPageVersion = 2;
inline constexpr std::size_t kPageLanes = 16;
inline constexpr std::size_t kPageExplanations = 1024;
inline constexpr std::size_t kPageQps = 16384;
inline constexpr std::size_t kPageReasons = ExplanationHistory::kPlaces;  ///< of a queue pair
inline constexpr std::size_t kPageCounters = 48;
static_assert(ib::kCounters <= kPageCounters);

using PageSequence = std::atomic<std::uint32_t>;
using PageCounter = ib::Total;
static_assert(PageSequence::is_always_lock_free && PageCounter::is_always_lock_free);

/// An Explanation as it lies in shared memory.
struct PageExplanationBody {
  std::uint64_t time_ns = 0;  ///< CLOCK_REALTIME; 0: empty
  std::uint64_t wr_id = 0;
  std::uint32_t qpn = 0;
  std::uint32_t peer_qpn = 0;
  std::uint32_t has_wr_id = 0;
  std::uint32_t reason = 0;
  std::uint64_t figures[4] = {};
};

struct alignas(64) PageHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t page_bytes;
  std::int32_t pid;
  std::uint32_t reserved;
  std::uint64_t started_ns;  ///< CLOCK_REALTIME
  char comm[16];             ///< not necessarily ended by a zero
  PageCounter explanations;  ///< ever written; number n lies at n % kPageExplanations
  PageCounter qps_hidden;    ///< QPs that found no free row
};

struct alignas(64) PageLane {
  std::atomic<std::uint32_t> used;
  std::uint32_t lane;
  PageCounter counters[kPageCounters];  ///< by ib::Counter
};

struct alignas(64) PageExplanation {
  PageSequence sequence;
  PageExplanationBody body;
};

/// Which way the messages of a QP take, and why.
enum class PathChoice : std::uint8_t {
  other_host,  ///< packets: the peer is not known to be on this host
  direct,
  wire_only,  ///< packets: SOFTRNIC_PATH=wire, SOFTRNIC_FAULTS or SOFTRNIC_CAPTURE on this side
  /// packets: the peer shares nothing: the same on its side, another version, or no memory for it
  not_shared,
  /// Packets through shared memory: a filter (seccomp) lets this process not at the other's memory, though
  /// the kernel lets it attach.
  forbidden,
  /// Packets: one of the two may not attach to the other (ptrace(2): namespaces,
  /// capabilities, not dumpable, Yama).
  refused,
  /// Packets through shared memory: this process lacks restartable sequences (rseq(2)), without which the
  /// other lets nobody at its memory.
  no_rseq,
  /// Packets through shared memory: the program has set a rate limit or an alternate path.
  by_program,
  stream,  ///< iWARP: messages go by TCP, or there is no connection
};
inline constexpr std::size_t kPathChoices = 9;

/// The slow part of a QP's row, under `PageQp::sequence`.
struct alignas(8) PageQpBody {
  std::uint32_t qpn = 0;  ///< 0: the row is free
  std::uint32_t peer_qpn = 0;
  std::uint32_t device = 0;  ///< DeviceInfo::index
  std::uint32_t path_mtu = 0;
  std::uint8_t type = 0;       ///< enum ibv_qp_type
  std::uint8_t state = 0;      ///< enum ibv_qp_state
  std::uint8_t path = 0;       ///< control::PathChoice
  std::uint8_t explained = 0;  ///< 1: its PageQpReasons have something
  std::uint8_t reserved[4] = {};
  std::uint8_t peer_gid[16] = {};
};

struct alignas(64) PageQp {
  PageSequence sequence;
  std::atomic<std::uint32_t> send_psn;
  std::atomic<std::uint32_t> receive_psn;
  std::uint32_t reserved;
  PageQpBody body;
  PageCounter counters[kPageCounters];
};

/// The reasons of the QP whose row has the same number (ExplanationHistory). They lie
/// apart, as few QPs have any.
struct PageQpReasonsBody {
  struct Entry {
    PageExplanationBody latest;
    std::uint64_t times = 0;
  };
  Entry entries[kPageReasons];
};
struct alignas(64) PageQpReasons {
  PageSequence sequence;
  PageQpReasonsBody body;
};

struct Page {
  PageHeader header;
  PageLane lanes[kPageLanes];
  PageExplanation explanations[kPageExplanations];
  PageQp qps[kPageQps];
  PageQpReasons reasons[kPageQps];
};

static_assert(sizeof(PageHeader) == 64 && sizeof(PageLane) == 448 && sizeof(PageExplanation) == 128 &&
              sizeof(PageQp) == 448 && sizeof(PageQpReasons) == 448);
inline constexpr std::size_t kPageBytes = sizeof(Page);

}  // namespace softrnic::control
