#include "tests/sim/attacker.h"
#include "tests/sim/model.h"

namespace softrnic::sim {

HostileModel::HostileModel(Ground& ground, Node& victim, bool stingy)
    : Model(ground, victim), stingy_(stingy) {
  for (const Region* region : {victim.foreign, victim.feeble})
    untouched_.emplace_back(region->bytes().begin(), region->bytes().end());
}

/// Its work may end in any way.
void HostileModel::prepare(WorkRequest& wr) { wr.legal = ~0U; }

void HostileModel::receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) {
  if (!holds(receiver, receive, {}, 0, false))
    ground_.fail(format("node %u: its peer has written beside receive %llu", receiver.index,
                        static_cast<unsigned long long>(receive.id)));
  check_lengths(*receiver.memory.find(receive.region));
  if (done.status == ib::Status::flushed && !receiver.broken) receiver.sends->note_flush();
}

void HostileModel::succeeded(std::size_t index) {
  const WorkRequest& wr = log_[index];
  if (stingy_ && node_.pair->type == ib::QpType::rc)
    complain(wr, "succeeds although its peer acknowledged nothing");
  if (const Region* region = node_.memory.find(wr.local)) check_lengths(*region);
  check_gaps(wr);
}

void HostileModel::check_lengths(const Region& region) {
  if (region.use != Use::source && holds_forbidden(region.bytes()))
    ground_.fail(
        format("node %u: its memory holds bytes of a packet whose length breaks the rules", node_.index));
}

void HostileModel::finish() {
  check_lengths(*node_.target);
  const Region* const others[] = {node_.foreign, node_.feeble};
  for (std::size_t i = 0; i < untouched_.size(); ++i) {
    if (!same(others[i]->bytes(), untouched_[i]) || !others[i]->guards_intact())
      ground_.fail(format("node %u: its peer has written to memory that it has no access to", node_.index));
  }
  if (!node_.target->guards_intact())
    ground_.fail(format("node %u: its peer has written beside the memory that it may write to", node_.index));
}

}  // namespace softrnic::sim
