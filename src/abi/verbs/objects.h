// The C structures of verbs with our objects behind them.
//
// Each derives from the public structure, so that a pointer from C becomes ours by a cast, and holds
// the rnic object that does the work. They are made by new and freed by delete in the calls that
// create and destroy them.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "abi/verbs/newer_verbs.h"
#include "abi/verbs/program_memory.h"
#include "abi/verbs/send_batch.h"
#include "rnic/address_handle.h"
#include "rnic/completion_channel.h"
#include "rnic/completion_counter.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/device_memory.h"
#include "rnic/extended_poll.h"
#include "rnic/flow.h"
#include "rnic/flow_counters.h"
#include "rnic/indirection_table.h"
#include "rnic/memory_region.h"
#include "rnic/memory_window.h"
#include "rnic/protection_domain.h"
#include "rnic/queue_pair.h"
#include "rnic/shared_receive_queue.h"
#include "rnic/work_queue.h"

namespace softrnic::abi {

class OpenDevice;

/// A struct ibv_device as provider libraries see it: the private struct verbs_device has 712 bytes and begins
/// with the public structure and a pointer that a provider compares with its own; here it is a Sibling's.
struct Device : ibv_device {
  const void* foreign_ops = nullptr;
  std::byte provider_fields[64]{};
  std::atomic<std::uint64_t> guid{0};  ///< big-endian
  std::uint32_t index = 0;
};

/// Room in front of a struct verbs_context, which grows at its beginning: for the operations that are newer
/// than the header this is built with.
struct NewerOperationsRoom {
  static constexpr std::size_t kBytes =
      kVerbsContextBytes - std::min(kVerbsContextBytes, sizeof(verbs_context));
  alignas(void*) std::byte room[std::max(kBytes, sizeof(void*))]{};
};

struct Context : NewerOperationsRoom, verbs_context {
  std::shared_ptr<OpenDevice> opened;

  static Context* of(ibv_context* context) {
    auto* verbs = reinterpret_cast<char*>(context) - offsetof(verbs_context, context);
    return static_cast<Context*>(reinterpret_cast<verbs_context*>(verbs));
  }
};

struct Td : ibv_td {
  std::unique_ptr<rnic::ThreadDomain> impl;

  static Td* of(ibv_td* td) { return static_cast<Td*>(td); }
};

struct Pd : ibv_pd {
  OpenDevice* opened = nullptr;
  std::unique_ptr<ProgramMemory> memory;         ///< a parent domain with an allocator
  std::shared_ptr<rnic::ProtectionDomain> impl;  ///< shared with imported copies

  static Pd* of(ibv_pd* pd) { return static_cast<Pd*>(pd); }
};

struct Mr : ibv_mr {
  OpenDevice* opened = nullptr;
  std::shared_ptr<rnic::MemoryRegion> impl;  ///< shared with imported copies
  bool imported = false;

  static Mr* of(ibv_mr* mr) { return static_cast<Mr*>(mr); }
};

struct Mw : ibv_mw {
  OpenDevice* opened = nullptr;
  std::unique_ptr<rnic::MemoryWindow> impl;

  static Mw* of(ibv_mw* mw) { return static_cast<Mw*>(mw); }
};

struct Dm : ibv_dm {
  OpenDevice* opened = nullptr;
  std::shared_ptr<rnic::DeviceMemory> impl;  ///< shared with imported copies

  static Dm* of(ibv_dm* dm) { return static_cast<Dm*>(dm); }
};

struct Channel : ibv_comp_channel {
  OpenDevice* opened = nullptr;
  std::unique_ptr<rnic::CompletionChannel> impl;

  static Channel* of(ibv_comp_channel* channel) { return static_cast<Channel*>(channel); }
};

/// Always the extended structure: ibv_cq_ex_to_cq() is a cast, so that programs may hold either.
struct Cq : ibv_cq_ex {
  OpenDevice* opened = nullptr;
  std::uint32_t made_handle = 0;  ///< for ibv_req_notify_cq, which takes no lock of the process
  std::unique_ptr<rnic::CompletionQueue> impl;
  std::optional<rnic::ExtendedPoll> extended;  ///< of ibv_create_cq_ex

  static Cq* of(ibv_cq* cq) { return static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq)); }
  ibv_cq* verbs() { return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(this)); }
};

struct SharedXrcDomain;

struct Xrcd : ibv_xrcd {
  OpenDevice* opened = nullptr;
  std::shared_ptr<SharedXrcDomain> impl;
  rnic::UseCount uses;  ///< by SRQs and QPs that were made or opened with it

  static Xrcd* of(ibv_xrcd* xrcd) { return static_cast<Xrcd*>(xrcd); }
};

struct Srq : ibv_srq {
  OpenDevice* opened = nullptr;
  Xrcd* domain = nullptr;  ///< XRC
  std::unique_ptr<rnic::SharedReceiveQueue> impl;

  static Srq* of(ibv_srq* srq) { return static_cast<Srq*>(srq); }
};

struct Counter : CompCntr {
  std::unique_ptr<rnic::CompletionCounter> impl;

  static Counter* of(CompCntr* counter) { return static_cast<Counter*>(counter); }
};

struct Qp : ibv_qp_ex {
  /// Where programs built with newer headers find operations that this header does not have
  std::array<void*, 4> newer_operations{};
  OpenDevice* opened = nullptr;
  Xrcd* domain = nullptr;                 ///< XRC target
  std::shared_ptr<rnic::QueuePair> impl;  ///< shared by all that ibv_open_qp made of one XRC target
  std::optional<SendBatch> batch;         ///< of ibv_create_qp_ex with send_ops_flags
  std::uint64_t stream_token = 0;         ///< iWARP: of the connection that it has, or had last

  static Qp* of(ibv_qp* qp) { return static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp)); }
  ibv_qp* verbs() { return &qp_base; }
};

struct FlowHandle : ibv_flow {
  std::unique_ptr<rnic::Flow> impl;

  static FlowHandle* of(ibv_flow* flow) { return static_cast<FlowHandle*>(flow); }
};

struct FlowCountersHandle : ibv_counters {
  std::unique_ptr<rnic::FlowCounters> impl;

  static FlowCountersHandle* of(ibv_counters* counters) { return static_cast<FlowCountersHandle*>(counters); }
};

struct Wq : ibv_wq {
  OpenDevice* opened = nullptr;
  std::unique_ptr<rnic::WorkQueue> impl;

  static Wq* of(ibv_wq* wq) { return static_cast<Wq*>(wq); }
};

struct RwqTable : ibv_rwq_ind_table {
  std::unique_ptr<rnic::IndirectionTable> impl;

  static RwqTable* of(ibv_rwq_ind_table* table) { return static_cast<RwqTable*>(table); }
};

inline rnic::AddressHandle* handle_of(ibv_ah* ah) { return static_cast<rnic::AddressHandle*>(ah); }

// Programs and providers reach into these by offset (tests/abi/golden).
static_assert(offsetof(verbs_context, context) - offsetof(verbs_context, query_port) == 320);
static_assert(sizeof(verbs_context) == offsetof(verbs_context, context) + sizeof(ibv_context));
static_assert(sizeof(verbs_context) >= 648);
static_assert(sizeof(ibv_device) == 664 && sizeof(Device) >= 720);
static_assert(offsetof(ibv_qp_ex, qp_base) == 0 && offsetof(ibv_cq_ex, cqe) == offsetof(ibv_cq, cqe));

}  // namespace softrnic::abi
