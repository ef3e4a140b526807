// A work queue: the receives of frames that an indirection table sends to it (ibv_create_wq(3)).
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "ethernet/flow_key.h"
#include "ethernet/received_frame.h"
#include "rnic/lane_port.h"
#include "rnic/object.h"
#include "rnic/on_demand_memory.h"
#include "rnic/receive_source.h"
#include "transport/ib/frame_placement.h"
#include "transport/ib/host.h"

namespace softrnic::rnic {

class CompletionQueue;
class Context;
class ProtectionDomain;

struct WorkQueueInit {
  ProtectionDomain* pd = nullptr;
  CompletionQueue* cq = nullptr;
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  bool strips_vlan = false;
};

/// The lock of its lane guards it. The verbs take it themselves.
class WorkQueue final : private ib::Host {
 public:
  /// Returns the capabilities made in `init`. EINVAL: they are beyond the limits, or objects are of another
  /// device; ENOMEM; what Lanes::choose_for_frames() refuses.
  static Expected<std::unique_ptr<WorkQueue>, Failure> create(Context& context, WorkQueueInit& init);
  /// EBUSY: it is in an indirection table. Delete it afterwards.
  Expected<void, Failure> destroy();

  /// ibv_modify_wq. EINVAL.
  Expected<void, Failure> modify(const ibv_wq_attr& attributes);
  Expected<void, Failure> post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

  Context& context() const { return context_; }
  std::uint32_t number() const { return number_; }
  ibv_wq_state state() const { return state_; }

  // ---- for the lane, with its lock held
  void receive_frame(const ethernet::ReceivedFrame& frame, const ethernet::ParsedFrame& parsed,
                     std::uint32_t flow_tag);

  /// See QueuePair::room_for_frames().
  std::size_t room_for_frames() const {
    return state_ == IBV_WQS_RDY ? receives_.posted().value_or(SIZE_MAX) : SIZE_MAX;
  }

  UseCount uses;  ///< by indirection tables

 private:
  WorkQueue(Context& context, LanePort& lane, const WorkQueueInit& init);

  // ib::Host
  Expected<ib::HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address, std::uint64_t length,
                                                ib::LocalUse use) override;
  Expected<ib::HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address, std::uint64_t length,
                                                 std::uint32_t access) override;
  bool store(std::byte* on_demand, const std::byte* from, std::size_t size) override {
    return OnDemandMemory::write(on_demand, from, size);
  }
  std::byte* bounce_buffer(std::size_t) override { return nullptr; }
  Expected<void, Reason> invalidate(MemoryKey rkey) override;
  const ib::RecvWqe* take_receive() override { return receives_.take(); }
  void complete(const ib::SendDone&) override {}
  void complete(const ib::RecvDone& done) override;
  void event(ib::QpEvent) override {}
  void explain(const Reason& reason, const std::uint64_t* wr_id) override;

  Expected<void, Failure> check_modify(const ibv_wq_attr& attributes) const;
  void enter(ibv_wq_state to);
  void flush();

  Context& context_;
  LanePort& lane_;
  const WorkQueueInit init_;
  std::uint32_t number_ = 0;
  ibv_wq_state state_ = IBV_WQS_RESET;
  ReceiveSource receives_;
  ib::FramePlacement placement_;
  ib::Counters counters_;
};

}  // namespace softrnic::rnic
