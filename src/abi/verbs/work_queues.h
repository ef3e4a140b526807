// Work queues, and the tables that spread frames over them.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/queue_pair_init.h"

namespace softrnic::abi {

/// The operations of struct verbs_context behind ibv_create_wq and the like.
void fill_work_queue_operations(verbs_context& verbs);

/// What a receive hash can be of: bits of enum ibv_rx_hash_fields.
inline constexpr std::uint64_t kHashFields =
    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
    IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP |
    IBV_RX_HASH_DST_PORT_UDP | IBV_RX_HASH_IPSEC_SPI | std::uint64_t{IBV_RX_HASH_INNER};

/// What is special of a QP of raw packets among the attributes of ibv_create_qp_ex. EINVAL, EOPNOTSUPP.
Expected<void, Failure> take_frame_attributes(const ibv_qp_init_attr_ex& attributes,
                                              rnic::QueuePairInit& init);

}  // namespace softrnic::abi
