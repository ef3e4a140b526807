#include "abi/rdmacm/streams.h"

#include <cerrno>
#include <span>

#include "abi/sibling.h"

namespace softrnic::rdmacm {
namespace {

/// nullptr: none has that number any more, or libibverbs is another build's.
ibv_qp* queue_pair_of(const Id& id) {
  if (id.qp != nullptr) return id.qp;
  const abi::Sibling* const sibling = id.session->sibling;
  return sibling != nullptr ? sibling->find_qp(id.verbs, id.stream_qpn) : nullptr;
}

Expected<void, Failure> start(const Id& id, const control::CmStream& stream) {
  if (!stream.socket) return rnic::refused(EMFILE, ReasonId::rdma_stream_missing);
  const std::uint32_t qpn = id.qp != nullptr ? id.qp->qp_num : id.stream_qpn;
  if (id.session->sibling == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_no_streams, qpn);
  ibv_qp* const qp = queue_pair_of(id);
  if (qp == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_qp_unknown, qpn);
  // a call that fails has explained itself
  if (const int error = id.session->sibling->start_stream(qp, stream.socket.get(), &stream.grant))
    return Unexpected{Failure{error, {}}};
  return {};
}

}  // namespace

bool has_streams(const Id& id) {
  return id.verbs != nullptr && id.verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

Expected<void, Failure> start_stream(Id& id, control::CmStream stream) {
  auto started = start(id, stream);
  if (started) {
    static_cast<void>(stream.socket.release());
  } else {
    stream.socket.reset();
    static_cast<void>(id.session->daemon.streams_ended(std::span(&stream.grant.token, 1)));
  }
  return started;
}

void close_stream(Id& id) {
  if (ibv_qp* const qp = queue_pair_of(id)) static_cast<void>(id.session->sibling->close_stream(qp));
}

}  // namespace softrnic::rdmacm
