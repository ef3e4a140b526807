// Bugs planted on purpose, outside the product: a Host, an endpoint and a wire that each do one thing wrong.
// The tests of the simulator assert that every one of them is found.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "tests/sim/network.h"
#include "tests/sim/node.h"

namespace softrnic::sim {

enum class Mutation : std::uint8_t {
  none,
  // what the endpoint tells the host
  write_outside,      ///< writes a byte beyond a remote write
  lose_receive,       ///< a receive completion never arrives
  repeat_completion,  ///< a send completes twice
  wrong_length,       ///< byte_len is one too high
  wrong_immediate,
  forget_solicited,
  forget_flush,  ///< one work request is not flushed
  silent_error,  ///< the error state without event
  forget_drained,
  wrong_last_byte,  ///< a receive completes before its last byte is there
  wrong_source,     ///< UD: another QP is named as the sender
  wrong_srq,        ///< XRC: the receives of another SRQ are taken
  // what the endpoint does
  complete_early,  ///< a send completes when it is posted
  complete_after_reset,
  execute_write_twice,   ///< a duplicate WRITE is executed again
  execute_atomic_twice,  ///< a duplicate atomic is executed again
  execute_atomic_write_twice,
  answer_flush_at_once,  ///< a FLUSH is answered and not executed
  forget_atomic_result,  ///< a duplicate atomic gets another answer than the first time
  swallow_acks,
  swallow_naks,
  impatient,  ///< each timer is taken for long over
  lose_timer,
  leak_window,
  forget_window,  ///< what is in flight leaves the window before it is answered
  ignore_fence,
  ignore_credit,         ///< whatever the peer says, it has receives
  execute_window_twice,  ///< a bind or invalidate is executed again
  deliver_twice,         ///< UC and UD: each packet is handled twice
  stay_on_path,          ///< who has an alternate path does not take it
  forget_mig_req,        ///< what leaves says that nobody has migrated
  join_torn_message,     ///< UC: a middle packet is missing and nobody notices
  // what an attacker would make use of
  trust_joined_lengths,      ///< packets that came in a row are as long as they should be, whatever they are
  join_atomic_acknowledges,  ///< an ATOMIC ACKNOWLEDGE may stand for several
  hold_lane,                 ///< a packet without a receive holds up all that come after it
  // what is on the wire
  wrong_byte,
  count_,
};

const char* name(Mutation mutation);

class MutantHost final : public ib::Host {
 public:
  MutantHost(Node& node, Mutation mutation) : Host(node.counters), node_(node), mutation_(mutation) {}

  Expected<ib::HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address, std::uint64_t length,
                                                ib::LocalUse use) override {
    return node_.local_memory(lkey, address, length, use);
  }
  Expected<ib::HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address, std::uint64_t length,
                                                 std::uint32_t access) override;
  Expected<void, Reason> remote_region(MemoryKey rkey, std::uint32_t access) override {
    return node_.remote_region(rkey, access);
  }
  std::byte* bounce_buffer(std::size_t size) override { return node_.bounce_buffer(size); }
  Expected<void, Reason> invalidate(MemoryKey rkey) override { return node_.invalidate(rkey); }
  Expected<void, Reason> select_srq(std::uint32_t number) override {
    if (mutation_ == Mutation::wrong_srq && number == node_.queues[0]->srqn) ++number;
    return node_.select_srq(number);
  }
  Expected<void, Reason> execute_locally(const ib::SendWqe& wqe) override;
  const ib::RecvWqe* take_receive() override { return node_.take_receive(); }
  std::optional<std::uint32_t> receives_posted() const override { return node_.receives_posted(); }
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                 const ib::AtomicOperation& operation) override {
    return node_.execute_atomic(word, operation);
  }
  ib::PathWindow* migrated() override { return node_.migrated(); }
  void complete(const ib::SendDone& done) override;
  void complete(const ib::RecvDone& done) override;
  void event(ib::QpEvent event) override;
  void explain(const Reason& reason, const std::uint64_t* wr_id) override { node_.explain(reason, wr_id); }

  /// This work request was reported already.
  void swallow(std::uint64_t id) { swallowed_.insert(id); }
  Node& node() { return node_; }

 private:
  Node& node_;
  Mutation mutation_;
  std::unordered_set<std::uint64_t> swallowed_;
  std::uint32_t sends_ = 0;
  std::uint32_t receives_ = 0;
  bool done_once_ = false;
};

std::unique_ptr<ib::Endpoint> make_mutant(std::unique_ptr<ib::Endpoint> endpoint, Mutation mutation,
                                          MutantHost& host);

void mutate_bytes(Mutation mutation, Network& network, std::uint32_t flight);

}  // namespace softrnic::sim
