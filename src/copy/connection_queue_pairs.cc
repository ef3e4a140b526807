// The queue pairs of a connection beside the one of rdma_cm. They lead to the same peer on the same path, so
// all that they need is in the first, but for their numbers, which the greeting carries.
#include "copy/connection.h"
#include "copy/token.h"

namespace softrnic::copy {
namespace {

constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kReadyToReceive = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kReadyToSend = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

int change(ibv_qp* qp, ibv_qp_attr attributes, ibv_qp_state state, int mask) {
  attributes.qp_state = state;
  return ibv_modify_qp(qp, &attributes, mask);
}

}  // namespace

bool Connection::can_have_more() const {
  return id_->verbs->device->transport_type == IBV_TRANSPORT_IB;  // RoCE too; iWARP connects by rdma_cm alone
}

QueuePairNames Connection::add_queue_pairs(std::uint32_t count) {
  QueuePairNames names;
  const auto random = fresh_nonce();
  ibv_qp_attr first{};
  ibv_qp_init_attr made_with{};
  count = std::min<std::uint32_t>(count, kMaxQueuePairs);
  if (count < 2 || !random || !can_have_more() ||
      ibv_query_qp(id_->qp, &first, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, &made_with) != 0 ||
      ibv_resize_cq(queue_.get(), static_cast<int>(count * QueuePair::kEntries)) != 0)
    return names;
  first.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  ibv_qp_init_attr wanted = QueuePair::wanted(queue_.get());
  while (names.count < count) {
    QueuePairPtr qp(ibv_create_qp(domain_.get(), &wanted));
    if (qp == nullptr || change(qp.get(), first, IBV_QPS_INIT, kInit) != 0) break;
    QueuePair added(names.count, qp.get(), nullptr);
    if (!added.post_all_receives()) break;
    QueuePairName& name = names.more[names.count++ - 1];
    name.number = qp->qp_num;
    std::memcpy(&name.psn, random->data() + sizeof name.psn * (names.count - 1U), sizeof name.psn);
    name.psn &= 0xffffff;
    queue_pairs_.push_back(std::move(added));
    more_.push_back(std::move(qp));
  }
  return names;
}

Result<void> Connection::connect_queue_pairs(const QueuePairNames& own, const QueuePairNames& peer) {
  while (queue_pairs_.size() > peer.count) {
    queue_pairs_.pop_back();
    more_.pop_back();
  }
  constexpr int kPath = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
  ibv_qp_attr path{};
  ibv_qp_init_attr made_with{};
  if (!more_.empty() && ibv_query_qp(id_->qp, &path, kPath, &made_with) != 0)
    return fail_errno("ibv_query_qp");
  for (std::size_t i = 0; i < more_.size(); ++i) {
    path.dest_qp_num = peer.more[i].number;
    path.rq_psn = peer.more[i].psn & 0xffffff;
    path.sq_psn = own.more[i].psn;
    if (int error = change(more_[i].get(), path, IBV_QPS_RTR, kReadyToReceive);
        error != 0 || (error = change(more_[i].get(), path, IBV_QPS_RTS, kReadyToSend)) != 0)
      return fail_errno("ibv_modify_qp", error);
  }
  return {};
}

}  // namespace softrnic::copy
