// The two roles of the verifier. Both walk through the same batches; see plan.h.
//
// A batch: the target lays out its memory and posts receives; the initiator posts all operations at once,
// collects the completions and checks what READs and atomics brought; the target checks everything that
// was written or received.
#pragma once

#include "tests/interop/verify/channel.h"
#include "tests/interop/verify/peer.h"
#include "tests/interop/verify/plan.h"

namespace interop {

struct Tally {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wrong = 0;
  std::uint64_t lost = 0;  ///< UC and UD only
};

/// Counts a check of `bytes` bytes and says on stderr what is wrong.
void judge(Tally& tally, bool right, const Operation& operation, const char* what, std::uint64_t bytes);

Tally initiate(Peer& peer, const Settings& settings, Channel& channel);
Tally be_target(Peer& peer, const Settings& settings, Channel& channel);

}  // namespace interop
