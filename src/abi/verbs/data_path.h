// The operations that programs reach through struct ibv_context_ops.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::abi {

int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int request_notification(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_shared_receive(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_work_queue_receive(ibv_wq* wq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

}  // namespace softrnic::abi
