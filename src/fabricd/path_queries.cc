#include "fabricd/path_queries.h"

#include "base/clock.h"
#include "mad/component_mask.h"
#include "mad/sa_path_records.h"

namespace softrnic::fabricd {
namespace {

using mad::PathRecord;

PathRecord record_of(const cma::PathQuery& query) {
  PathRecord record;
  record.sgid = query.source;
  record.dgid = query.destination;
  record.p_key = query.pkey;
  record.reversible = true;
  record.num_paths = 1;
  record.set_service_id(query.service_id);
  record.qos_class = query.qos_class.value_or(0);
  record.traffic_class = query.traffic_class.value_or(0);
  return record;
}

std::uint64_t mask_of(const cma::PathQuery& query) {
  std::uint64_t mask = mad::component<PathRecord>("sgid") | mad::component<PathRecord>("dgid") |
                       mad::component<PathRecord>("p_key") | mad::component<PathRecord>("reversible") |
                       mad::component<PathRecord>("num_paths");
  if (query.qos_class) mask |= mad::component<PathRecord>("qos_class");
  if (query.traffic_class) mask |= mad::component<PathRecord>("traffic_class");
  return mask;
}

cma::PathAnswer path_in(const SaAnswer& answer) {
  const auto record = record_in<PathRecord>(answer);
  if (!record) return Unexpected{record.error()};
  cma::PathRecord path;
  path.source_lid = record->slid;
  path.destination_lid = record->dlid;
  path.pkey = record->p_key;
  path.flow_label = record->flow_label;
  path.hop_limit = record->hop_limit;
  path.traffic_class = record->traffic_class;
  path.sl = record->sl;
  path.mtu = static_cast<std::uint8_t>(record->mtu);
  path.rate = static_cast<std::uint8_t>(record->rate);
  path.packet_life_time = record->packet_life_time;
  return path;
}

}  // namespace

void PathQueries::ask(cma::IdNumber id, const cma::PathQuery& query) {
  forget(id);
  const auto token =
      sa_.ask(static_cast<std::uint8_t>(query.port), mad::Method::get, record_of(query), mask_of(query),
              {monotonic_now(), query.deadline}, [this, id](const SaAnswer& answer) {
                waiting_.erase(id);
                found_(id, path_in(answer));
              });
  if (sa_.waits(token)) waiting_[id] = token;
}

void PathQueries::forget(cma::IdNumber id) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;
  sa_.cancel(it->second);
  waiting_.erase(it);
}

}  // namespace softrnic::fabricd
