#include "transport/iwarp/same_host_endpoint.h"

#include "base/reason_id.h"
#include "transport/iwarp/context.h"

namespace softrnic::iwarp {

SameHostEndpoint::SameHostEndpoint(const ib::Capacity& capacity, Qpn local, ib::Host& host)
    : host_(host), rc_(ib::make_endpoint(ib::QpType::rc, local, capacity, host)), lifeline_(host, *this) {}

void SameHostEndpoint::set_access(std::uint32_t access) {
  attributes_.access = access;
  rc_->update(attributes_);
}

// The peer may send before this side has its stream, so the responder starts first.
void SameHostEndpoint::start(const ib::Attributes& attributes, ib::PathWindow& window) {
  attributes_ = attributes;
  rc_->set_window(&window);
  rc_->start_responder(attributes);
}

void SameHostEndpoint::stream_moved() {
  if (requests_ || in_error() || !lifeline_.peer_ready()) return;
  requests_ = true;
  rc_->start_requester(attributes_);
}

void SameHostEndpoint::receive_lacks(TimePoint now) {
  if (lacks_since_ == kNever) lacks_since_ = now;
  if (now - lacks_since_ < kReceivePatience || lifeline_.ended()) return;
  host_.explain(because(ReasonId::iwarp_no_receive, received_ + 1), nullptr);
  lifeline_.give_up();
}

void SameHostEndpoint::flush() {
  rc_->flush();
  lifeline_.give_up();
}

void SameHostEndpoint::expire(TimePoint now) {
  rc_->expire(now);
  lifeline_.expire(now);
}

}  // namespace softrnic::iwarp
