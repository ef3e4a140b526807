#include "fabric/remote_link.h"

#include <utility>

namespace softrnic::fabric {

void RemoteLink::connect(Tell tell) {
  disconnect();
  tell_ = std::move(tell);
  state_.set_ready(link().is_near_end_ready());
  tell_changes();
}

void RemoteLink::disconnect() {
  tell_ = nullptr;
  told_.reset();
  state_.forget_peer();
  engine_.set_enabled(remote_, false);
}

void RemoteLink::hear(const RemoteLinkStatus& status) {
  if (tell_ == nullptr) return;
  if (state_.hear(status)) engine_.set_enabled(remote_, false);
  tell_changes();
  come_up_if_agreed();
}

void RemoteLink::changed() {
  const bool is_up = link().up;
  if (std::exchange(was_up_, is_up) && !is_up) state_.went_down();
  state_.set_ready(link().is_near_end_ready());
  tell_changes();
  come_up_if_agreed();
}

void RemoteLink::tell_changes() {
  if (tell_ == nullptr || told_ == state_.own()) return;
  told_ = state_.own();
  tell_(*told_);
}

// It has told of itself before: the far end is up no later than the first packet comes to it.
void RemoteLink::come_up_if_agreed() {
  if (tell_ != nullptr && state_.may_be_up() && !link().up) engine_.set_enabled(remote_, true);
}

}  // namespace softrnic::fabric
