// Extended shared receive queues: the operations of struct verbs_context.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softrnic::abi {

/// Basic SRQs, those of XRC and those of tag matching; EOPNOTSUPP for everything else that comp_mask and
/// srq_type may name.
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
/// See rnic::SharedReceiveQueue::post_operations().
int post_srq_operations(ibv_srq* srq, ibv_ops_wr* wr, ibv_ops_wr** bad_wr);
/// EINVAL: the SRQ is none of XRC.
int get_srq_number(ibv_srq* srq, std::uint32_t* number);

}  // namespace softrnic::abi
