#include "abi/verbs/extended_completions.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include "abi/calls.h"
#include "abi/verbs/completions.h"
#include "abi/verbs/live_objects.h"
#include "base/clock.h"
#include "base/explanation_history.h"
#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/frame_completion.h"
#include "rnic/tag_info.h"

namespace softrnic::abi {
namespace {

constexpr std::uint64_t kTimes =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint64_t kFields =
    IBV_WC_STANDARD_FLAGS | kTimes | IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO;
constexpr std::uint32_t kMasks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
constexpr std::uint32_t kFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

rnic::ExtendedPoll& poll_of(ibv_cq_ex* cq) { return *static_cast<Cq*>(cq)->extended; }
const ibv_wc& current(ibv_cq_ex* cq) { return poll_of(cq).current(); }

// ---- polling

/// Shows the current completion, if `none` is 0.
int show(ibv_cq_ex* cq, int none) {
  if (none != 0) return none;
  const ibv_wc& wc = current(cq);
  cq->status = wc.status;
  cq->wr_id = wc.wr_id;
  return 0;
}

SOFTRNIC_HOT_PATH int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  return show(cq, poll_of(cq).start());
}

SOFTRNIC_HOT_PATH int next_poll(ibv_cq_ex* cq) { return show(cq, poll_of(cq).next()); }

void end_poll(ibv_cq_ex* cq) { poll_of(cq).end(); }

// ---- fields

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) { return current(cq).opcode; }
std::uint32_t read_vendor_err(ibv_cq_ex* cq) {
  const ibv_wc& wc = current(cq);
  return rnic::TagInfo::in(wc) ? 0 : wc.vendor_err;
}
std::uint32_t read_byte_len(ibv_cq_ex* cq) { return current(cq).byte_len; }
__be32 read_imm_data(ibv_cq_ex* cq) { return current(cq).imm_data; }
std::uint32_t read_qp_num(ibv_cq_ex* cq) { return current(cq).qp_num; }
std::uint32_t read_src_qp(ibv_cq_ex* cq) { return current(cq).src_qp; }
unsigned read_wc_flags(ibv_cq_ex* cq) { return current(cq).wc_flags; }
std::uint32_t read_slid(ibv_cq_ex* cq) { return current(cq).slid; }
std::uint8_t read_sl(ibv_cq_ex* cq) { return current(cq).sl; }
std::uint8_t read_dlid_path_bits(ibv_cq_ex* cq) { return current(cq).dlid_path_bits; }
std::uint64_t read_completion_ts(ibv_cq_ex* cq) { return poll_of(cq).time(); }

std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) {
  const auto ago = static_cast<std::uint64_t>(ns_of(monotonic_now())) - poll_of(cq).time();
  return wall_clock_ns() - ago;
}

void read_tm_info(ibv_cq_ex* cq, ibv_wc_tm_info* info) {
  const auto tag = rnic::TagInfo::of(current(cq));
  *info = {.tag = tag.tag, .priv = tag.app_ctx};
}

std::uint16_t read_cvlan(ibv_cq_ex* cq) { return rnic::vlan_of(current(cq)); }
std::uint32_t read_flow_tag(ibv_cq_ex* cq) { return rnic::flow_tag_of(current(cq)); }

void fill_operations(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_byte_len = read_byte_len;
  cq.read_imm_data = read_imm_data;
  cq.read_qp_num = read_qp_num;
  cq.read_src_qp = read_src_qp;
  cq.read_wc_flags = read_wc_flags;
  cq.read_slid = read_slid;
  cq.read_sl = read_sl;
  cq.read_dlid_path_bits = read_dlid_path_bits;
  cq.read_completion_ts = read_completion_ts;
  cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
  cq.read_cvlan = read_cvlan;
  cq.read_flow_tag = read_flow_tag;
  cq.read_tm_info = read_tm_info;
}

// ---- creation

Expected<ibv_cq_ex*, Failure> create(ibv_context* context, const ibv_cq_init_attr_ex* wanted) {
  if (context == nullptr || wanted == nullptr) return null_argument();
  const std::uint32_t flags = (wanted->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? wanted->flags : 0;
  const bool has_parent = (wanted->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  const std::uint64_t fields = wanted->wc_flags & ~kFields;
  const std::uint32_t unknown_masks = wanted->comp_mask & ~kMasks, unknown_flags = flags & ~kFlags;
  if (fields != 0 || unknown_masks != 0 || unknown_flags != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::extended_cq, fields, unknown_masks, unknown_flags);
  if (has_parent && wanted->parent_domain == nullptr) return null_argument();
  if (has_parent && wanted->parent_domain->context != context)
    return rnic::refused(EINVAL, ReasonId::foreign_object);
  const CqRequest request{
      .entries = wanted->cqe,
      .cq_context = wanted->cq_context,
      .channel = wanted->channel,
      .vector = static_cast<int>(std::min<std::uint32_t>(wanted->comp_vector, INT_MAX)),
      .keeps_times = (wanted->wc_flags & kTimes) != 0,
      .parent = has_parent ? wanted->parent_domain : nullptr,
      .ignores_overrun = (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0,
  };
  const auto made = make_cq(context, request);
  if (!made) return Unexpected{made.error()};
  Cq& cq = **made;
  const bool single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0 ||
                               (has_parent && Pd::of(wanted->parent_domain)->impl->single_threaded());
  cq.extended.emplace(*cq.impl, single_threaded);
  fill_operations(cq);
  return &cq;
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  return pointer_call([&] { return alive(create(context, attributes)); });
}

// The clock of completion timestamps, in its ticks as adapters give it: tv_nsec may go beyond a second.
int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (context == nullptr || values == nullptr) return null_argument();
    values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
    if (values->comp_mask != 0) values->raw_clock = {0, static_cast<long>(ns_of(monotonic_now()))};
    return {};
  });
}

}  // namespace softrnic::abi
