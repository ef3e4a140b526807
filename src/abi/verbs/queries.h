// The queries that programs reach through struct verbs_context.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace softrnic::abi {

/// Writes at most `size` bytes of struct ibv_port_attr: the size that the program was built with. What the
/// program knows beyond ours is zeroed.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size);

/// The same for struct ibv_device_attr_ex. EINVAL when `size` does not even hold struct ibv_device_attr.
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size);

/// Plain QPs, those with send_ops_flags, XRC targets; EOPNOTSUPP for all else that comp_mask may name.
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attributes);
/// XRC targets. EINVAL: the domain has no such one, or comp_mask names too little.
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);

}  // namespace softrnic::abi
