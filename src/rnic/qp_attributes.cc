#include "rnic/qp_attributes.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "rnic/address_handle.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/rate_limit.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint8_t kMaxRetries = 7;
constexpr std::uint8_t kMaxTimerCode = 31;
constexpr std::uint32_t kAccessMask = 0xf | ib::kFlushGlobal | ib::kFlushPersistent;

template <typename... Figures>
Unexpected<Failure> no(ReasonId id, Figures... figures) {
  return Unexpected{refuse(EINVAL, id, figures...)};
}

/// An attribute with an upper bound.
struct Bound {
  std::uint32_t bit;
  std::uint8_t ibv_qp_attr::*value;
  std::uint8_t most;
};
constexpr Bound kBounds[] = {
    {IBV_QP_TIMEOUT, &ibv_qp_attr::timeout, kMaxTimerCode},
    {IBV_QP_ALT_PATH, &ibv_qp_attr::alt_timeout, kMaxTimerCode},
    {IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer, kMaxTimerCode},
    {IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic, limits::kMaxReadsPerQp},
    {IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic, limits::kMaxReadsPerQp},
};

Expected<void, Failure> check_values(const Context& context, const ibv_qp_attr& a, std::uint32_t mask) {
  for (const Bound& bound : kBounds) {
    if ((mask & bound.bit) != 0 && a.*bound.value > bound.most) {
      return no(ReasonId::bad_qp_attribute, bound.bit, a.*bound.value, bound.most);
    }
  }
  if ((mask & IBV_QP_PORT) != 0 && a.port_num != limits::kPorts) return no(ReasonId::bad_port, a.port_num);
  if ((mask & IBV_QP_DEST_QPN) != 0 && a.dest_qp_num > wire::kPsnMask) {
    return no(ReasonId::bad_dest_qpn, a.dest_qp_num);
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    if (a.path_mtu < IBV_MTU_256 || a.path_mtu > IBV_MTU_4096) {
      return no(ReasonId::bad_qp_attribute, IBV_QP_PATH_MTU, a.path_mtu, IBV_MTU_4096);
    }
    const std::uint32_t active = context.info()->port.active_mtu;
    if (mtu_bytes(a.path_mtu) > active) return no(ReasonId::mtu_too_large, mtu_bytes(a.path_mtu), active);
  }
  if ((mask & IBV_QP_RATE_LIMIT) != 0) {
    if (auto ok = RateLimit::check({.kilobits_per_second = a.rate_limit}); !ok) return ok;
  }
  return {};
}

/// `loaded`: the QP has an alternate path already.
Expected<void, Failure> check_migration(const ibv_qp_attr& a, std::uint32_t mask, bool loaded) {
  const bool loads = (mask & IBV_QP_ALT_PATH) != 0;
  if (loads && a.alt_port_num != limits::kPorts) return no(ReasonId::bad_port, a.alt_port_num);
  if ((mask & IBV_QP_PATH_MIG_STATE) == 0) return {};
  if (a.path_mig_state > IBV_MIG_ARMED)
    return no(ReasonId::bad_qp_attribute, IBV_QP_PATH_MIG_STATE, a.path_mig_state, IBV_MIG_ARMED);
  if (a.path_mig_state != IBV_MIG_MIGRATED && !loads && !loaded)
    return no(ReasonId::no_alternate_path, a.path_mig_state);
  return {};
}

/// Copies one attribute into both halves.
using Copy = void (*)(const ibv_qp_attr& from, QpAttributes& to);
struct CopyRow {
  std::uint32_t bit;
  Copy copy;
};

// fio and others ask for 10 retries; adapters have 3 bits for them. More than 7 means 7.
constexpr CopyRow kCopies[] = {
    {IBV_QP_PORT, [](auto& from, auto& to) { to.verbs.port_num = from.port_num; }},
    {IBV_QP_PKEY_INDEX, [](auto& from, auto& to) { to.verbs.pkey_index = from.pkey_index; }},
    {IBV_QP_QKEY, [](auto& from, auto& to) { to.transport.qkey = to.verbs.qkey = from.qkey; }},
    {IBV_QP_ACCESS_FLAGS,
     [](auto& from, auto& to) {
       to.verbs.qp_access_flags = from.qp_access_flags;
       to.transport.access = from.qp_access_flags & kAccessMask;
       to.access_given = true;
     }},
    {IBV_QP_PATH_MTU,
     [](auto& from, auto& to) {
       to.verbs.path_mtu = from.path_mtu;
       to.transport.path_mtu = mtu_bytes(from.path_mtu);
     }},
    {IBV_QP_DEST_QPN,
     [](auto& from, auto& to) {
       to.verbs.dest_qp_num = from.dest_qp_num;
       to.transport.remote = Qpn(from.dest_qp_num);
     }},
    {IBV_QP_RQ_PSN,
     [](auto& from, auto& to) { to.transport.receive_psn = to.verbs.rq_psn = from.rq_psn & wire::kPsnMask; }},
    {IBV_QP_SQ_PSN,
     [](auto& from, auto& to) { to.transport.send_psn = to.verbs.sq_psn = from.sq_psn & wire::kPsnMask; }},
    {IBV_QP_TIMEOUT, [](auto& from, auto& to) { to.transport.timeout = to.verbs.timeout = from.timeout; }},
    {IBV_QP_RETRY_CNT,
     [](auto& from, auto& to) {
       to.transport.retry_count = to.verbs.retry_cnt = std::min(from.retry_cnt, kMaxRetries);
     }},
    {IBV_QP_RNR_RETRY,
     [](auto& from, auto& to) {
       to.transport.rnr_retry = to.verbs.rnr_retry = std::min(from.rnr_retry, kMaxRetries);
     }},
    {IBV_QP_MIN_RNR_TIMER,
     [](auto& from, auto& to) { to.transport.min_rnr_timer = to.verbs.min_rnr_timer = from.min_rnr_timer; }},
    {IBV_QP_MAX_QP_RD_ATOMIC,
     [](auto& from, auto& to) { to.transport.max_reads_out = to.verbs.max_rd_atomic = from.max_rd_atomic; }},
    {IBV_QP_MAX_DEST_RD_ATOMIC,
     [](auto& from, auto& to) {
       to.transport.max_reads_in = to.verbs.max_dest_rd_atomic = from.max_dest_rd_atomic;
     }},
    {IBV_QP_ALT_PATH,
     [](auto& from, auto& to) {
       to.verbs.alt_ah_attr = from.alt_ah_attr;
       to.verbs.alt_pkey_index = from.alt_pkey_index;
       to.verbs.alt_port_num = from.alt_port_num;
       to.transport.alternate.timeout = to.verbs.alt_timeout = from.alt_timeout;
       to.transport.alternate.loaded = true;
     }},
    {IBV_QP_PATH_MIG_STATE,
     [](auto& from, auto& to) {
       const bool migrates = from.path_mig_state == IBV_MIG_MIGRATED;
       if (migrates && to.transport.migration == ib::Migration::armed) return;
       to.verbs.path_mig_state = from.path_mig_state;
       to.transport.migration = static_cast<ib::Migration>(from.path_mig_state);
     }},
};

// Programs that address RoCE peers by LID (see lid.h) take the MTU of an InfiniBand port for granted. They
// get what the port has, as both ends of their path do.
ibv_qp_attr fit_mtu(const Context& context, const ibv_qp_attr& wanted, std::uint32_t mask) {
  constexpr std::uint32_t kBoth = IBV_QP_AV | IBV_QP_PATH_MTU;
  ibv_qp_attr fitted = wanted;
  const auto device = context.info();
  const bool stands_for_a_gid = wanted.ah_attr.is_global == 0 && !device::has_lids(device->kind);
  if ((mask & kBoth) == kBoth && stands_for_a_gid && wanted.path_mtu <= IBV_MTU_4096)
    fitted.path_mtu = std::min(wanted.path_mtu, mtu_code(device->port.active_mtu));
  return fitted;
}

Expected<std::uint16_t, Failure> pkey_at(const Context& context, std::uint16_t index) {
  const auto device = context.info();
  const auto pkeys = device::pkeys_of(*device);
  if (index >= pkeys.size()) return no(ReasonId::bad_pkey_index, index, pkeys.size());
  return pkeys[index];
}

}  // namespace

Expected<void, Failure> take_attributes(const Context& context, const ibv_qp_attr& asked, std::uint32_t mask,
                                        QpAttributes& attributes) {
  const ibv_qp_attr wanted = fit_mtu(context, asked, mask);
  if (auto ok = check_values(context, wanted, mask); !ok) return ok;
  ib::Attributes& t = attributes.transport;
  if (auto ok = check_migration(wanted, mask, t.alternate.loaded); !ok) return ok;
  Expected<ib::AddressVector, Failure> path = t.path, alternate = t.alternate.path;
  if ((mask & IBV_QP_AV) != 0) path = resolve_address(context, wanted.ah_attr);
  if (!path) return Unexpected{path.error()};
  if ((mask & IBV_QP_ALT_PATH) != 0) alternate = resolve_address(context, wanted.alt_ah_attr);
  if (!alternate) return Unexpected{alternate.error()};
  Expected<std::uint16_t, Failure> pkey = t.pkey, alternate_pkey = pkey;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) pkey = pkey_at(context, wanted.pkey_index);
  if (!pkey) return Unexpected{pkey.error()};
  if ((mask & IBV_QP_ALT_PATH) != 0) alternate_pkey = pkey_at(context, wanted.alt_pkey_index);
  if (!alternate_pkey) return Unexpected{alternate_pkey.error()};
  t.pkey = *pkey;
  t.path = *path;
  t.alternate.path = *alternate;
  if ((mask & IBV_QP_AV) != 0) attributes.verbs.ah_attr = wanted.ah_attr;
  for (const CopyRow& row : kCopies) {
    if ((mask & row.bit) != 0) row.copy(wanted, attributes);
  }
  for (ib::AddressVector* each : {&t.path, &t.alternate.path})
    each->source_port = source_port(each->flow_label, t.local, t.remote);
  return {};
}

void QpAttributes::migrate() {
  transport.migrate();
  std::swap(verbs.ah_attr, verbs.alt_ah_attr);
  std::swap(verbs.pkey_index, verbs.alt_pkey_index);
  std::swap(verbs.port_num, verbs.alt_port_num);
  std::swap(verbs.timeout, verbs.alt_timeout);
  verbs.path_mig_state = IBV_MIG_MIGRATED;
}

void QpAttributes::arm() {
  transport.migration = ib::Migration::armed;
  verbs.path_mig_state = IBV_MIG_ARMED;
}

}  // namespace softrnic::rnic
