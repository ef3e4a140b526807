#include "abi/verbs/work_queues.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "abi/calls.h"
#include "abi/verbs/data_path.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"

namespace softrnic::abi {
namespace {

// ---- work queues

Expected<ibv_wq*, Failure> make_wq(ibv_context* context, ibv_wq_init_attr* wanted) {
  if (context == nullptr || wanted == nullptr) return null_argument();
  if (auto given = check_given(wanted->pd, wanted->cq); !given) return Unexpected{given.error()};
  const bool has_flags = (wanted->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0;
  const std::uint32_t flags = has_flags ? wanted->create_flags : 0;
  const bool known = wanted->wq_type == IBV_WQT_RQ &&
                     (wanted->comp_mask & ~std::uint32_t{IBV_WQ_INIT_ATTR_FLAGS}) == 0 &&
                     (flags & ~std::uint32_t{IBV_WQ_FLAGS_CVLAN_STRIPPING}) == 0;
  if (!known)
    return rnic::refused(EOPNOTSUPP, ReasonId::wq_attributes, wanted->wq_type, wanted->comp_mask, flags);
  auto wq = std::make_unique<Wq>();
  rnic::WorkQueueInit init{.pd = Pd::of(wanted->pd)->impl.get(),
                           .cq = Cq::of(wanted->cq)->impl.get(),
                           .max_wr = wanted->max_wr,
                           .max_sge = wanted->max_sge,
                           .strips_vlan = (flags & IBV_WQ_FLAGS_CVLAN_STRIPPING) != 0};
  OpenDevice& opened = *Context::of(context)->opened;
  auto made = rnic::WorkQueue::create(opened.context(), init);
  if (!made) return Unexpected{made.error()};
  wanted->max_wr = init.max_wr;
  wanted->max_sge = init.max_sge;
  wq->impl = std::move(*made);
  wq->opened = &opened;
  wq->context = context;
  wq->wq_context = wanted->wq_context;
  wq->pd = wanted->pd;
  wq->cq = wanted->cq;
  wq->wq_num = wq->impl->number();
  wq->handle = opened.next_handle();
  wq->state = IBV_WQS_RESET;
  wq->wq_type = wanted->wq_type;
  wq->post_recv = post_work_queue_receive;
  return wq.release();
}

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* wanted) {
  return pointer_call([&] { return alive(make_wq(context, wanted)); });
}

int modify_wq(ibv_wq* wq, ibv_wq_attr* attributes) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(wq, attributes); !given) return given;
    const auto done = Wq::of(wq)->impl->modify(*attributes);
    if (done && (attributes->attr_mask & IBV_WQ_ATTR_STATE) != 0) wq->state = attributes->wq_state;
    return done;
  });
}

Expected<void, Failure> end_wq(ibv_wq* wq) {
  const auto done = Wq::of(wq)->impl->destroy();
  if (done) delete Wq::of(wq);
  return done;
}

int destroy_wq(ibv_wq* wq) {
  return errno_call([&] { return end_life(wq, end_wq); });
}

// ---- indirection tables

Expected<ibv_rwq_ind_table*, Failure> make_table(ibv_context* context,
                                                 const ibv_rwq_ind_table_init_attr* wanted) {
  if (context == nullptr || wanted == nullptr || wanted->ind_tbl == nullptr) return null_argument();
  const std::uint32_t log_size = wanted->log_ind_tbl_size;
  if (wanted->comp_mask != 0 || log_size > rnic::IndirectionTable::kMaxLogSize)
    return rnic::refused(EINVAL, ReasonId::indirection_table, log_size, wanted->comp_mask,
                         rnic::IndirectionTable::kMaxLogSize);
  std::vector<rnic::WorkQueue*> queues;
  for (std::size_t i = 0; i < std::size_t{1} << log_size; ++i) {
    ibv_wq* const wq = wanted->ind_tbl[i];
    if (auto given = check_optional(wq); !given) return Unexpected{given.error()};
    queues.push_back(wq != nullptr ? Wq::of(wq)->impl.get() : nullptr);
  }
  OpenDevice& opened = *Context::of(context)->opened;
  auto table = std::make_unique<RwqTable>();
  auto made = rnic::IndirectionTable::create(opened.context(), queues);
  if (!made) return Unexpected{made.error()};
  table->impl = std::move(*made);
  table->context = context;
  table->ind_tbl_handle = static_cast<int>(opened.next_handle());
  table->ind_tbl_num = static_cast<int>(table->impl->number());
  return table.release();
}

ibv_rwq_ind_table* create_table(ibv_context* context, ibv_rwq_ind_table_init_attr* wanted) {
  return pointer_call([&] { return alive(make_table(context, wanted)); });
}

Expected<void, Failure> end_table(ibv_rwq_ind_table* table) {
  const auto done = RwqTable::of(table)->impl->destroy();
  if (done) delete RwqTable::of(table);
  return done;
}

int destroy_table(ibv_rwq_ind_table* table) {
  return errno_call([&] { return end_life(table, end_table); });
}

// ---- receive hashes

/// Addresses of one family and ports of one protocol, as a frame has no more.
bool is_hash_sound(const ibv_rx_hash_conf& hash) {
  constexpr std::uint64_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
  constexpr std::uint64_t kIpv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
  constexpr std::uint64_t kTcp = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
  constexpr std::uint64_t kUdp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
  constexpr std::uint64_t kSpi = IBV_RX_HASH_IPSEC_SPI;
  const std::uint64_t fields = hash.rx_hash_fields_mask;
  const int transports = static_cast<int>((fields & kTcp) != 0) + static_cast<int>((fields & kUdp) != 0) +
                         static_cast<int>((fields & kSpi) != 0);
  return hash.rx_hash_function == IBV_RX_HASH_FUNC_TOEPLITZ &&
         hash.rx_hash_key_len == ethernet::kToeplitzKeyBytes && hash.rx_hash_key != nullptr &&
         (fields & ~kHashFields) == 0 && ((fields & kIpv4) == 0 || (fields & kIpv6) == 0) && transports <= 1;
}

}  // namespace

Expected<void, Failure> take_frame_attributes(const ibv_qp_init_attr_ex& attributes,
                                              rnic::QueuePairInit& init) {
  constexpr std::uint32_t kSpread = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  const std::uint32_t mask = attributes.comp_mask;
  if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0)
    init.strips_vlan = (attributes.create_flags & IBV_QP_CREATE_CVLAN_STRIPPING) != 0;
  if ((mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0) init.max_tso_header = attributes.max_tso_header;
  if ((mask & kSpread) == 0) return {};
  const ibv_rx_hash_conf& hash = attributes.rx_hash_conf;
  if ((mask & kSpread) != kSpread) return null_argument();
  if (auto given = check_given(attributes.rwq_ind_tbl); !given) return given;
  if (!is_hash_sound(hash))
    return rnic::refused(EINVAL, ReasonId::receive_hash, hash.rx_hash_function, hash.rx_hash_key_len,
                         hash.rx_hash_fields_mask);
  init.table = RwqTable::of(attributes.rwq_ind_tbl)->impl.get();
  std::memcpy(init.hash.key.data(), hash.rx_hash_key, init.hash.key.size());
  init.hash.fields = static_cast<std::uint32_t>(hash.rx_hash_fields_mask);
  return {};
}

void fill_work_queue_operations(verbs_context& verbs) {
  verbs.create_wq = create_wq;
  verbs.modify_wq = modify_wq;
  verbs.destroy_wq = destroy_wq;
  verbs.create_rwq_ind_table = create_table;
  verbs.destroy_rwq_ind_table = destroy_table;
}

}  // namespace softrnic::abi
