#include "mad/rmpp_sender.h"

#include <algorithm>
#include <utility>

#include "mad/time_code.h"

namespace softrnic::mad {

RmppSender::RmppSender(std::vector<std::byte> message, const RmppSending& how)
    : message_(std::move(message)),
      data_offset_(std::clamp(how.data_offset, kRmppHeadersBytes, kMadBytes - 1)),
      segment_bytes_(kMadBytes - data_offset_),
      timeout_(how.timeout),
      longest_timeout_(std::max(how.timeout, how.longest_timeout)),
      retries_(how.retries),
      retries_left_(how.retries) {
  message_.resize(std::max(message_.size(), data_offset_));
  const std::size_t data = message_.size() - data_offset_;
  segments_ =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (data + segment_bytes_ - 1) / segment_bytes_));
}

bool RmppSender::next(TimePoint now, Mad& out) {
  if (state_ == State::sending && now >= deadline_) expire(now);
  if (std::exchange(abort_pending_, false)) {
    write_abort(out);
    return true;
  }
  if (state_ != State::sending || sent_ >= std::min(window_last_, segments_)) return false;
  write_segment(++sent_, out);
  highest_sent_ = std::max(highest_sent_, sent_);
  deadline_ = now + timeout_;
  return true;
}

/// What has not been acknowledged leaves once more, all of it: the receiver tells what came in order only.
void RmppSender::expire(TimePoint now) {
  if (retries_left_ == 0) return abort_transfer(RmppStatus::too_many_retries);
  --retries_left_;
  sent_ = acknowledged_;
  deadline_ = now + timeout_;
}

void RmppSender::receive(Bytes mad, TimePoint now) {
  if (state_ != State::sending || mad.size() != kMadBytes) return;
  const RmppHeader header = decode_rmpp(mad);
  if (!header.active) return;
  if (header.version != RmppHeader::kVersion) return abort_transfer(RmppStatus::unsupported_version);
  switch (header.type) {
    case RmppType::data:
      return;
    case RmppType::ack:
      return acknowledge(header, now);
    // Neither is answered, not even one that is wrong: two that answer would never end.
    case RmppType::stop:
    case RmppType::abort:
      return fail(reason_of(header));
    default:
      return abort_transfer(RmppStatus::bad_type);
  }
}

void RmppSender::acknowledge(const RmppHeader& header, TimePoint now) {
  const std::uint32_t number = header.segment_number;
  if (header.status != RmppStatus::normal) return abort_transfer(RmppStatus::illegal_status);
  if (header.new_window_last() < number) return abort_transfer(RmppStatus::new_window_last_too_small);
  if (number > highest_sent_) return abort_transfer(RmppStatus::segment_number_too_big);
  if (number < acknowledged_ || header.new_window_last() < window_last_) return;  // overtaken by a later one
  if (number > acknowledged_) {
    acknowledged_ = number;
    sent_ = std::max(sent_, number);
    retries_left_ = retries_;
    deadline_ = now + timeout_;
  }
  window_last_ = header.new_window_last();
  if (header.response_time != RmppHeader::kNoResponseTime)
    timeout_ = std::min(std::max(timeout_, time_of(header.response_time)), longest_timeout_);
  if (acknowledged_ == segments_) {
    state_ = State::done;
    deadline_ = kNever;
  }
}

void RmppSender::fail(RmppStatus status) {
  state_ = State::failed;
  status_ = status;
  deadline_ = kNever;
}

void RmppSender::abort_transfer(RmppStatus status) {
  fail(status);
  abort_pending_ = true;
}

/// PayloadLength counts what follows the RMPP header, and so the class's own header in each segment.
void RmppSender::write_segment(std::uint32_t number, Mad& out) const {
  out = {};
  std::copy_n(message_.begin(), data_offset_, out.begin());
  const std::size_t begin = data_offset_ + (number - 1) * segment_bytes_;
  const std::size_t bytes = std::min(segment_bytes_, message_.size() - begin);
  std::copy_n(message_.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
              out.begin() + static_cast<std::ptrdiff_t>(data_offset_));

  const std::size_t padding = data_offset_ + segments_ * segment_bytes_ - message_.size();
  RmppHeader header{.type = RmppType::data, .response_time = decode_rmpp(message_).response_time};
  header.active = true;
  header.first = number == 1;
  header.last = number == segments_;
  header.segment_number = number;
  if (header.first)
    header.payload_length = static_cast<std::uint32_t>(segments_ * kRmppPayloadBytes - padding);
  if (header.last) header.payload_length = static_cast<std::uint32_t>(kRmppPayloadBytes - padding);
  encode_rmpp(header, out);
}

void RmppSender::write_abort(Mad& out) const {
  out = {};
  std::copy_n(message_.begin(), data_offset_, out.begin());
  encode_rmpp({.type = RmppType::abort,
               .response_time = RmppHeader::kNoResponseTime,
               .active = true,
               .status = status_},
              out);
}

}  // namespace softrnic::mad
