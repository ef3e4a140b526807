// What a lane does with the Ethernet frames of raw packet queue pairs.
#include "base/attempt.h"
#include "base/reason_id.h"
#include "engine/lane.h"
#include "rnic/context.h"
#include "rnic/work_queue.h"

namespace softrnic::engine {
namespace {

constexpr std::uint32_t kNumberMask = (1U << 24) - 1;

std::uint32_t netdev_of(const rnic::QueuePair& qp) { return qp.context().info()->interface_index; }

}  // namespace

// ---- who uses ports

Expected<void, Failure> Lane::use_port(const rnic::QueuePair& qp) {
  if (qp.type() != IBV_QPT_RAW_PACKET) return {};
  return ports_.use(netdev_of(qp));
}

void Lane::leave_port(const rnic::QueuePair& qp) {
  if (qp.type() == IBV_QPT_RAW_PACKET) ports_.release(netdev_of(qp));
}

Expected<std::uint32_t, Failure> Lane::attach(rnic::WorkQueue& queue) {
  static_cast<void>(queue);
  if (abandoned_) return Unexpected{refuse(EIO, ReasonId::forked_child)};
  ++work_queues_;
  await_packets();
  return 1U << 24 | (++work_queue_numbers_ & kNumberMask);
}

void Lane::detach(rnic::WorkQueue& queue) {
  --work_queues_;
  await_packets();
  completions_.discard(Qpn(queue.number()));
}

Expected<void, Failure> Lane::add_flow(rnic::Flow& flow) {
  if (abandoned_) return Unexpected{refuse(EIO, ReasonId::forked_child)};
  settle_frames();
  auto added = ports_.add(flow, netdev_of(flow.target()));
  // The engine thread may sleep without a look at the new socket.
  if (added) timers_.bring_forward(monotonic_now());
  return added;
}

// The sockets are the parent's too, and what is asked of them is.
void Lane::remove_flow(rnic::Flow& flow) {
  if (abandoned_) return;
  settle_frames();
  ports_.remove(flow, netdev_of(flow.target()));
}

// Frames that have come go by the rules that were there when they came.
void Lane::settle_frames() {
  constexpr int kMostBatches = 64;
  for (int i = 0; i < kMostBatches && !clock_.in_batch() && ports_.readable(); ++i)
    do_work(Caller::resolver, monotonic_now());
}

// ---- frames

std::size_t Lane::receive_frames() {
  const std::size_t frames = ports_.receive(
      clock_.batch_time(),
      [this](rnic::Flow& flow, const ethernet::ReceivedFrame& frame, const ethernet::ParsedFrame& parsed) {
        flow.met(frame.bytes.size());
        if (flow.drop) return;
        flow.target().receive_frame(frame, parsed, flow.tag);
        touch(flow.target());
      });
  if (frames < link::FrameReceiver::kFrames) return frames;
  if (const std::uint32_t lost = ports_.take_drops(); lost != 0)
    dropped(because(ReasonId::drop_frames_overflow, lost), ib::Counter::drop_overflow, Qpn(), lost);
  return frames;
}

void Lane::flush_frames() {
  ports_.flush([this](const link::FrameSender::Report& lost) {
    dropped(because(ReasonId::frame_send_failed, lost.error, lost.bytes), ib::Counter::send_errors, Qpn(),
            lost.frames);
  });
}

}  // namespace softrnic::engine
