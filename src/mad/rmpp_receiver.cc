#include "mad/rmpp_receiver.h"

#include <algorithm>
#include <utility>

namespace softrnic::mad {
namespace {

constexpr std::size_t kMethod = 3;
constexpr std::byte kResponseBit{0x80};

}  // namespace

RmppReceiver::RmppReceiver(const RmppReceiving& how)
    : data_offset_(std::clamp(how.data_offset, kRmppHeadersBytes, kMadBytes - 1)),
      segment_bytes_(kMadBytes - data_offset_),
      window_(std::max<std::uint32_t>(how.window, 1)),
      most_bytes_(how.most_bytes),
      timeout_(how.timeout),
      linger_(how.linger),
      arrived_(window_) {}

void RmppReceiver::receive(Bytes mad, TimePoint now) {
  if (mad.size() != kMadBytes) return;
  const RmppHeader header = decode_rmpp(mad);
  if (!header.active || header.type == RmppType::ack) return;
  if (deadline_ == kNever) begin(mad, now);
  if (state_ != State::receiving) {
    if (header.type == RmppType::data) pending_ = last_word_;
    return;
  }
  if (header.version != RmppHeader::kVersion) return refuse(RmppStatus::unsupported_version, now);
  switch (header.type) {
    case RmppType::data:
      break;
    case RmppType::stop:
    case RmppType::abort:
      return end(State::failed, reason_of(header), Pending::nothing, now);
    default:
      return refuse(RmppStatus::bad_type, now);
  }
  const RmppStatus wrong = check(header);
  if (wrong != RmppStatus::normal) return refuse(wrong, now);
  take_segment(header, mad, now);
}

void RmppReceiver::begin(Bytes mad, TimePoint now) {
  std::copy_n(mad.begin(), data_offset_, headers_.begin());
  deadline_ = now + timeout_;
}

RmppStatus RmppReceiver::check(const RmppHeader& header) const {
  if (header.status != RmppStatus::normal) return RmppStatus::illegal_status;
  const std::uint32_t number = header.segment_number;
  if (number == 0 || header.first != (number == 1)) return RmppStatus::inconsistent_first_and_segment_number;
  if (last_ != 0 && number > last_) return RmppStatus::segment_number_too_big;
  if (!header.last)
    return number == last_ ? RmppStatus::inconsistent_last_and_payload_length : RmppStatus::normal;
  const std::uint32_t own_header = static_cast<std::uint32_t>(data_offset_ - kRmppHeadersBytes);
  const bool fits = header.payload_length >= own_header && header.payload_length <= kRmppPayloadBytes;
  const bool agrees = (last_ == 0 || number == last_) && number >= in_order_;
  return fits && agrees ? RmppStatus::normal : RmppStatus::inconsistent_last_and_payload_length;
}

/// The length that the first segment tells is looked at for its size alone, as by Linux: senders differ in
/// whether it counts the class's own header in each segment.
bool RmppReceiver::has_room(const RmppHeader& header) const {
  const std::size_t told = header.first && !header.last ? header.payload_length : 0;
  const std::size_t end = data_offset_ + header.segment_number * segment_bytes_;
  return told <= most_bytes_ && (header.first || end <= most_bytes_);
}

void RmppReceiver::take_segment(const RmppHeader& header, Bytes mad, TimePoint now) {
  const std::uint32_t number = header.segment_number;
  if (number <= acknowledged_) {  // the ACK was lost
    pending_ = Pending::ack;
    return;
  }
  if (number > window_last_ || number <= in_order_ || arrived_[number % arrived_.size()]) return;
  if (!has_room(header)) return end(State::failed, RmppStatus::resources_exhausted, Pending::stop, now);
  if (header.first) message_.assign(mad.begin(), mad.begin() + static_cast<std::ptrdiff_t>(data_offset_));
  if (header.last) {
    last_ = number;
    last_payload_ = header.payload_length;
  }
  const std::size_t begin = data_offset_ + (number - 1) * segment_bytes_;
  message_.resize(std::max(message_.size(), begin + segment_bytes_));
  std::copy_n(mad.begin() + static_cast<std::ptrdiff_t>(data_offset_), segment_bytes_,
              message_.begin() + static_cast<std::ptrdiff_t>(begin));
  arrived_[number % arrived_.size()] = true;
  advance(now);
}

/// Acknowledges a window when it is full, not each segment; the first opens the window.
void RmppReceiver::advance(TimePoint now) {
  const std::uint32_t before = in_order_;
  while (in_order_ != last_ || last_ == 0) {
    const std::size_t following = (in_order_ + 1) % arrived_.size();
    if (!arrived_[following]) break;
    arrived_[following] = false;
    ++in_order_;
  }
  if (in_order_ != before) deadline_ = now + timeout_;
  if (in_order_ == last_ && last_ != 0) return finish(now);
  if (in_order_ != window_last_) return;
  window_last_ += window_;
  pending_ = Pending::ack;
}

void RmppReceiver::finish(TimePoint now) {
  const std::size_t padding = kRmppPayloadBytes - last_payload_;
  message_.resize(data_offset_ + last_ * segment_bytes_ - padding);
  end(State::done, RmppStatus::normal, Pending::ack, now);
}

void RmppReceiver::end(State state, RmppStatus status, Pending last_word, TimePoint now) {
  state_ = state;
  status_ = status;
  pending_ = last_word_ = last_word;
  deadline_ = now + linger_;
  if (state == State::failed) message_ = {};
}

void RmppReceiver::refuse(RmppStatus status, TimePoint now) {
  end(State::failed, status, Pending::abort, now);
}

bool RmppReceiver::next(TimePoint now, Mad& out) {
  if (state_ == State::receiving && now >= deadline_) refuse(RmppStatus::total_time_too_long, now);
  const Pending pending = std::exchange(pending_, Pending::nothing);
  if (pending == Pending::nothing) return false;
  out = headers_;
  out[kMethod] ^= kResponseBit;
  RmppHeader header{.response_time = RmppHeader::kNoResponseTime, .active = true, .status = status_};
  if (pending == Pending::ack) {
    acknowledged_ = in_order_;
    header.type = RmppType::ack;
    header.segment_number = in_order_;
    header.payload_length = std::max(window_last_, in_order_);
  } else {
    header.type = pending == Pending::stop ? RmppType::stop : RmppType::abort;
  }
  encode_rmpp(header, out);
  return true;
}

}  // namespace softrnic::mad
