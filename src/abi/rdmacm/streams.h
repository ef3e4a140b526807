// The TCP connections of ids on iWARP devices. The daemon sets them up; libibverbs drives them for the queue
// pair, which comes to RTS by that alone.
#pragma once

#include "abi/rdmacm/id.h"
#include "base/expected.h"
#include "base/reason.h"
#include "control/cm_client.h"

namespace softrnic::rdmacm {

/// The id is on an iWARP device.
bool has_streams(const Id& id);

/// The queue pair of the id, or the one that the program names in `given`, can take a stream, and this
/// process has room for its socket. Before anything is said to the peer. EINVAL, EMFILE.
Expected<void, Failure> may_start_stream(const Id& id, const rdma_conn_param* given);

/// The queue pair of the id, or the one whose number the program gave, has `stream` from now on. When that
/// fails, the daemon is told that the stream has ended.
Expected<void, Failure> start_stream(Id& id, control::CmStream stream);

/// In good order: what is posted is finished. A queue pair without the id's connection is left as it is.
void close_stream(const Id& id);

/// The id goes: so does the connection, if the queue pair still has it. As the kernel's iw_cm.
void abort_stream(const Id& id);

}  // namespace softrnic::rdmacm
