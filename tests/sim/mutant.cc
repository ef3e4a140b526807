#include "tests/sim/mutant.h"

#include "wire/fields.h"

namespace softrnic::sim {

const char* name(Mutation mutation) {
  static const char* const names[] = {"none",
                                      "write_outside",
                                      "lose_receive",
                                      "repeat_completion",
                                      "wrong_length",
                                      "wrong_immediate",
                                      "forget_solicited",
                                      "forget_flush",
                                      "silent_error",
                                      "forget_drained",
                                      "wrong_last_byte",
                                      "wrong_source",
                                      "wrong_srq",
                                      "complete_early",
                                      "complete_after_reset",
                                      "execute_write_twice",
                                      "execute_atomic_twice",
                                      "execute_atomic_write_twice",
                                      "answer_flush_at_once",
                                      "forget_atomic_result",
                                      "swallow_acks",
                                      "swallow_naks",
                                      "impatient",
                                      "lose_timer",
                                      "leak_window",
                                      "forget_window",
                                      "ignore_fence",
                                      "ignore_credit",
                                      "execute_window_twice",
                                      "deliver_twice",
                                      "stay_on_path",
                                      "forget_mig_req",
                                      "join_torn_message",
                                      "trust_joined_lengths",
                                      "join_atomic_acknowledges",
                                      "hold_lane",
                                      "wrong_byte"};
  static_assert(std::size(names) == static_cast<std::size_t>(Mutation::count_));
  return names[static_cast<std::size_t>(mutation)];
}

Expected<ib::HostMemory, Reason> MutantHost::remote_memory(MemoryKey rkey, std::uint64_t address,
                                                           std::uint64_t length, std::uint32_t access) {
  if (mutation_ == Mutation::write_outside && access == ib::kRemoteWrite && length > 4) {
    auto beyond = node_.remote_memory(rkey, address + length, 1, access);
    if (beyond) *beyond->at ^= std::byte{0x55};
  }
  return node_.remote_memory(rkey, address, length, access);
}

Expected<void, Reason> MutantHost::execute_locally(const ib::SendWqe& wqe) {
  if (mutation_ == Mutation::execute_window_twice) static_cast<void>(node_.execute_locally(wqe));
  return node_.execute_locally(wqe);
}

void MutantHost::complete(const ib::SendDone& done) {
  if (swallowed_.erase(done.wr_id) != 0) return;
  if (mutation_ == Mutation::forget_flush && done.status == ib::Status::flushed && !done_once_) {
    done_once_ = true;
    return;
  }
  node_.complete(done);
  if (mutation_ == Mutation::repeat_completion && done.status == ib::Status::success && ++sends_ == 5)
    node_.complete(done);
}

void MutantHost::complete(const ib::RecvDone& given) {
  ib::RecvDone done = given;
  if (done.status != ib::Status::success) return node_.complete(done);
  ++receives_;
  if (mutation_ == Mutation::lose_receive && receives_ == 3) return;
  if (mutation_ == Mutation::wrong_length && done.length > 100) ++done.length;
  if (mutation_ == Mutation::wrong_immediate) done.immediate = __builtin_bswap32(done.immediate);
  if (mutation_ == Mutation::forget_solicited) done.solicited = false;
  if (mutation_ == Mutation::wrong_source) done.source = Qpn(done.source.value ^ 1);
  if (mutation_ == Mutation::wrong_last_byte && !node_.taken.empty() && !done.is_write && done.length != 0) {
    std::uint64_t left = done.length - 1;
    for (const ib::Sge& sge : node_.taken.front()->sges) {
      if (left >= sge.length) {
        left -= sge.length;
        continue;
      }
      Region& region = *node_.memory.find(sge.lkey);
      region.bytes()[sge.address - region.base + left] ^= std::byte{1};
      break;
    }
  }
  node_.complete(done);
}

void MutantHost::event(ib::QpEvent event) {
  const bool error = event == ib::QpEvent::access_error || event == ib::QpEvent::request_error ||
                     event == ib::QpEvent::fatal;
  if (mutation_ == Mutation::silent_error && error) return;
  if (mutation_ == Mutation::forget_drained && event == ib::QpEvent::send_queue_drained) return;
  node_.event(event);
}

void mutate_bytes(Mutation mutation, Network& network, std::uint32_t flight) {
  if (mutation != Mutation::wrong_byte) return;
  const auto& bytes = network.flight(flight).bytes;
  if (wire::field::Bth::Psn::load(bytes.data()) % 16 == 5) network.falsify(flight);
}

}  // namespace softrnic::sim
