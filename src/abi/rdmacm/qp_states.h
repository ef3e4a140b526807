// The states of a queue pair on its way through a connection.
#pragma once

#include <infiniband/verbs.h>

#include "abi/rdmacm/id.h"
#include "base/expected.h"
#include "base/reason.h"
#include "control/cm_messages.h"

namespace softrnic::rdmacm {

ibv_ah_attr address_of(const control::CmAddressVector& vector);

/// The attributes of a transition to `attributes.qp_state`, and their mask; what the mask does not name is
/// zero.
Expected<int, Failure> init_qp_attributes(Id& id, ibv_qp_attr& attributes);

// All of these concern `qp`, or id.qp and do nothing when there is none. On an iWARP device the connection's
// stream alone brings it to RTS (streams.h).

/// RESET to INIT, and on to RTR and RTS for datagrams.
Expected<void, Failure> make_ready(Id& id, ibv_qp& qp);
/// INIT to RTR. RDMA_MAX_RESP_RES: what was agreed on.
Expected<void, Failure> modify_to_rtr(Id& id, std::uint8_t responder_resources);
/// RTR to RTS. RDMA_MAX_INIT_DEPTH: what was agreed on.
Expected<void, Failure> modify_to_rts(Id& id, std::uint8_t initiator_depth);
Expected<void, Failure> modify_to_error(Id& id);

/// The active side's last step: id.qp to RTS, then the RTU. When it fails, the QP is in ERR.
Expected<void, Failure> confirm(Id& id);

}  // namespace softrnic::rdmacm
