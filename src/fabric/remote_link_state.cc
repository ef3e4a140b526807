#include "fabric/remote_link_state.h"

namespace softrnic::fabric {

// 0 is no number: it stands for none.
void RemoteLinkState::next_epoch() {
  if (++own_.epoch == 0) own_.epoch = 1;
}

void RemoteLinkState::set_ready(bool ready) {
  if (own_.ready && !ready) next_epoch();
  own_.ready = ready;
}

void RemoteLinkState::forget_peer() {
  next_epoch();
  own_.heard = 0;
  peer_.reset();
}

bool RemoteLinkState::hear(const RemoteLinkStatus& status) {
  const bool is_another = !peer_ || peer_->epoch != status.epoch;
  peer_ = status;
  own_.heard = status.epoch;
  return is_another || !may_be_up();
}

bool RemoteLinkState::may_be_up() const {
  return own_.ready && peer_ && peer_->ready && peer_->heard == own_.epoch;
}

}  // namespace softrnic::fabric
