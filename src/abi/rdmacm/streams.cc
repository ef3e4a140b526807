#include "abi/rdmacm/streams.h"

#include <cerrno>
#include <span>

#include "abi/sibling.h"

namespace softrnic::rdmacm {
namespace {

/// What libibverbs lends for streams; nullptr: it is another build's, and takes none.
const abi::Sibling* driver_of(const Id& id) {
  const abi::Sibling* const sibling = id.session->sibling;
  return sibling != nullptr && sibling->start_stream != nullptr ? sibling : nullptr;
}

/// nullptr: none has that number any more.
ibv_qp* queue_pair_of(const Id& id, const abi::Sibling& driver) {
  return id.qp != nullptr ? id.qp : driver.find_qp(id.verbs, id.stream_qpn);
}

Expected<void, Failure> start(const Id& id, const control::CmStream& stream) {
  if (!stream.socket) return rnic::refused(EMFILE, ReasonId::rdma_stream_missing);
  const std::uint32_t qpn = id.qp != nullptr ? id.qp->qp_num : id.stream_qpn;
  const abi::Sibling* const driver = driver_of(id);
  if (driver == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_no_streams, qpn);
  ibv_qp* const qp = queue_pair_of(id, *driver);
  if (qp == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_qp_unknown, qpn);
  // a call that fails has explained itself
  if (const int error = driver->start_stream(qp, stream.socket.get(), &stream.grant))
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
  const abi::Sibling* const driver = driver_of(id);
  ibv_qp* const qp = driver != nullptr ? queue_pair_of(id, *driver) : nullptr;
  if (qp != nullptr) static_cast<void>(driver->close_stream(qp));
}

}  // namespace softrnic::rdmacm
