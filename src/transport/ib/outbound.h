// What all requesters share: putting a piece of a message into a packet, and completing work requests.
#pragma once

#include "transport/ib/host.h"
#include "transport/ib/send_queue.h"
#include "transport/ib/sge_list.h"

namespace softrnic::ib {

/// Adds the payload of the packet that begins at `offset` of the message, at most `most` bytes, with its pad.
/// Error: why an lkey does not allow it.
Expected<void, Reason> add_payload(Host& host, const SendQueue& queue, const SendEntry& entry,
                                   std::uint32_t offset, std::uint32_t most, SgeCursor& cursor,
                                   TxPacket& out);

/// Takes the front work request off the queue and reports it, if it is signaled or not a success.
void complete_front(Host& host, SendQueue& queue, Status status, const Reason& reason = {});

/// Executes the front work request, which is_local(): nothing that was posted before it is outstanding. (It
/// might begin earlier. But so it is executed once, whatever is sent again, and what a peer has still to
/// answer finds the window as it was.) Error: why not; it has not been completed.
Expected<void, Reason> execute_front(Host& host, SendQueue& queue);

/// Completes all work requests as flushed.
void flush_all(Host& host, SendQueue& queue);

}  // namespace softrnic::ib
