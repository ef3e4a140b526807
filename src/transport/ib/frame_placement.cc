#include "transport/ib/frame_placement.h"

#include <utility>

#include "transport/ib/rx_packet.h"
#include "transport/ib/sge_list.h"

namespace softrnic::ib {

bool FramePlacement::receive(Host& host, const InboundFrame& frame) {
  const std::size_t size = frame.bytes.size() - frame.cut;
  host.count(Counter::rx_packets);
  host.count(Counter::rx_bytes, size);
  if (receive_ == nullptr) receive_ = host.take_receive();
  if (receive_ == nullptr) {
    host.count(Counter::drop_no_receive);
    host.explain(because(ReasonId::drop_frame_no_receive, size), nullptr);
    return true;
  }
  if (size > receive_->length) {
    host.count(Counter::drop_length);
    host.explain(because(ReasonId::drop_frame_too_long, size, receive_->length), &receive_->wr_id);
    return true;
  }
  const auto placed = place(host, frame);
  RecvDone done;
  done.wr_id = std::exchange(receive_, nullptr)->wr_id;
  if (placed) {
    done.length = static_cast<std::uint32_t>(size);
    done.flow_tag = frame.flow_tag;
    done.vlan = frame.vlan;
    done.checksums_ok = frame.checksums_ok;
  } else {
    host.explain(placed.error(), &done.wr_id);
    done.status = Status::local_protection;
    done.reason = placed.error();
  }
  host.complete(done);
  return placed.has_value();
}

Expected<void, Reason> FramePlacement::place(Host& host, const InboundFrame& frame) const {
  SgeCursor cursor;
  const Bytes before = frame.cut == 0 ? frame.bytes : frame.bytes.first(frame.cut_at);
  auto done = scatter(host, LocalUse::receive, receive_->sges, cursor, 0, {before, nullptr, before.size()});
  if (frame.cut == 0 || !done) return done;
  const Bytes behind = frame.bytes.subspan(frame.cut_at + frame.cut);
  return scatter(host, LocalUse::receive, receive_->sges, cursor, before.size(),
                 {behind, nullptr, behind.size()});
}

void FramePlacement::flush(Host& host) {
  if (receive_ == nullptr) return;
  RecvDone done;
  done.wr_id = std::exchange(receive_, nullptr)->wr_id;
  done.status = Status::flushed;
  done.reason = because(ReasonId::flushed);
  host.complete(done);
}

}  // namespace softrnic::ib
