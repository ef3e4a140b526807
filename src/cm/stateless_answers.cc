#include "cm/stateless_answers.h"

#include "base/reason_id.h"
#include "mad/class_port_info.h"

namespace softrnic::cm {
namespace {

// ClassPortInfo:CapabilityMask of this class: reliable connections, unreliable
// connections, unreliable datagrams.
constexpr std::uint16_t kCapabilities = 1U << 9 | 1U << 12 | 1U << 13;
constexpr std::uint8_t kResponseTime = 18;  // 1.07 s

}  // namespace

void StatelessAnswers::get(const Incoming& in) {
  mad::Mad out{};
  mad::Header header = in.header;
  header.method = mad::Method::get_response;
  header.class_version = kClassVersion;
  mad::Status status = mad::Status::ok;
  if (in.header.class_version != kClassVersion) {
    status = mad::Status::bad_version;
  } else if (in.header.method != mad::Method::get || in.header.attribute != mad::kClassPortInfo) {
    status = mad::Status::bad_method_attribute;
  } else {
    mad::ClassPortInfo info;
    info.class_version = kClassVersion;
    info.capability_mask = kCapabilities;
    info.response_time = kResponseTime;
    mad::encode_class_port_info(info, MutableBytes(out).subspan(mad::kHeaderBytes));
  }
  header.status = static_cast<std::uint16_t>(status);
  mad::encode_header(header, out);
  host_.send(in.from, out);
}

void StatelessAnswers::unknown_target(const Incoming& in, Message message, const ConnectionTable& table) {
  // The IDs lie where the other messages have them, but for SIDR_REP. Who is not the peer gets the same
  // answers whether the ID exists or not.
  const bool sidr = message == Message::sidr_rep;
  const std::uint32_t id = load_be32(&in.mad[mad::kHeaderBytes + (sidr ? 0 : 4)]);
  const Connection* const named = table.find(id);
  const bool exists = named != nullptr;
  if (message == Message::dreq) {
    disconnected(in);
    if (!exists) return;  // the usual end: our DREP was lost
    // a peer that wants a sign of life before it takes our REQ, see HeldRequests
    if (named->active && named->remote_id == 0 && named->peer.joins_same_hosts(in.from)) return;
  }
  // Who sends these believes in a connection that this side has given up, and its REJ was lost.
  if (message == Message::rep) reject(in, RejectReason::invalid_communication_id, About::rep);
  if (message == Message::rtu) reject(in, RejectReason::invalid_communication_id, About::other);
  if (message == Message::lap) return refuse_path(in, AprStatus::invalid_id);
  host_.explain(because(exists ? ReasonId::cm_drop_wrong_peer : ReasonId::cm_drop_unknown_id,
                        in.header.attribute, id, in.from.remote.high_half(), in.from.remote.low_half()),
                in.from);
}

void StatelessAnswers::reject(const Incoming& in, RejectReason reason, About about) {
  Rej rej;
  rej.remote_id = load_be32(&in.mad[mad::kHeaderBytes]);
  if (about != About::req) rej.local_id = load_be32(&in.mad[mad::kHeaderBytes + 4]);
  rej.about = about;
  rej.reason = reason;
  host_.send(in.from, encode(rej, in.header.transaction));
}

void StatelessAnswers::disconnected(const Incoming& in) {
  const Dreq dreq = decode<Dreq>(in.mad);
  Drep drep;
  drep.local_id = dreq.remote_id;
  drep.remote_id = dreq.local_id;
  host_.send(in.from, encode(drep, in.header.transaction));
}

void StatelessAnswers::refuse_path(const Incoming& in, AprStatus status) {
  const Lap lap = decode<Lap>(in.mad);
  Apr apr;
  apr.local_id = lap.remote_id;
  apr.remote_id = lap.local_id;
  apr.status = status;
  host_.explain(because(ReasonId::cm_alternate_path, lap.remote_id), in.from);
  host_.send(in.from, encode(apr, in.header.transaction));
}

}  // namespace softrnic::cm
