#include "cm/mra.h"

namespace softrnic::cm {

Expected<void, Failure> MraExchange::ask(Id id, std::uint8_t service_timeout, Bytes private_data) {
  if (const auto failure = too_long(private_data, kMraPrivateData)) return Unexpected{*failure};
  if (const auto failure = above_limit({{service_timeout, 31}})) return Unexpected{*failure};
  const auto claimed = lifecycle_.claim(id, {State::req_received, State::rep_received});
  if (!claimed) return Unexpected{claimed.error()};
  Connection& connection = **claimed;
  Mra mra;
  mra.local_id = id.value;
  mra.remote_id = connection.remote_id;
  mra.about = connection.active ? About::rep : About::req;
  mra.service_timeout = service_timeout;
  fill(mra.private_data, private_data);
  lifecycle_.enter(connection, connection.active ? State::mra_rep_sent : State::mra_req_sent);
  transmission_.send(connection, encode(mra, connection.transaction));
  return {};
}

bool MraExchange::came(Connection& connection, const Incoming& in) {
  const Mra mra = decode<Mra>(in.mad);
  const About awaited = connection.active ? About::req : About::rep;
  if (mra.about != awaited) return false;
  lifecycle_.enter(connection, connection.active ? State::mra_req_received : State::mra_rep_received);
  connection.interval = answer_time_of(mra.service_timeout, kMaxServiceTimeout) + 2 * connection.life_time;
  table_.set_due(connection, in.now + connection.interval);
  Event event{.kind = EventKind::delayed};
  event.about = mra.about;
  event.service_timeout = mra.service_timeout;
  event.private_data = in.private_data(kMraPrivateData);
  lifecycle_.tell(connection, event);
  return true;
}

}  // namespace softrnic::cm
