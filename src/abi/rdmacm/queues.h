// The queues of an id: its QP or SRQ, and the CQs that the library makes when the program gives none.
#pragma once

#include <infiniband/verbs.h>

#include "abi/rdmacm/id.h"
#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rdmacm {

/// Sets id.qp, and id.send_cq, id.recv_cq and their channels when `attributes` has none.
/// `attributes` gets what was made.
Expected<void, Failure> create_qp(Id& id, ibv_qp_init_attr_ex& attributes);
/// `pd` nullptr: the device's default.
Expected<void, Failure> create_qp(Id& id, ibv_pd* pd, ibv_qp_init_attr& attributes);
void destroy_qp(Id& id);
void destroy_srq(Id& id);

}  // namespace softrnic::rdmacm
