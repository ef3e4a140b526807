#include "transport/ib/frame_placement.h"

#include <utility>

#include "base/reason_id.h"
#include "transport/ib/failed_receive.h"
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
  const std::uint64_t wr_id = std::exchange(receive_, nullptr)->wr_id;
  if (!placed) {
    host.explain(placed.error(), &wr_id);
    host.complete(failed_receive(wr_id, Status::local_protection, placed.error()));
    return false;
  }
  RecvDone done;
  done.wr_id = wr_id;
  done.length = static_cast<std::uint32_t>(size);
  done.flow_tag = frame.flow_tag;
  done.vlan = frame.vlan;
  done.checksums_ok = frame.checksums_ok;
  host.complete(done);
  return true;
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
  if (receive_ != nullptr) host.complete(flushed_receive(std::exchange(receive_, nullptr)->wr_id));
}

}  // namespace softrnic::ib
