#include "abi/rdmacm/streams.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <span>

#include "abi/sibling.h"
#include "base/reason_id.h"
#include "base/unique_fd.h"

namespace softrnic::rdmacm {
namespace {

/// What libibverbs lends for streams; nullptr: it is another build's, and takes none.
const abi::Sibling* driver_of(const Id& id) {
  const abi::Sibling* const sibling = id.session->sibling;
  return sibling != nullptr && sibling->start_stream != nullptr ? sibling : nullptr;
}

/// Of its queue pair; `number`: of one that the library has not made.
std::uint32_t qpn_of(const Id& id, std::uint32_t number) { return id.qp != nullptr ? id.qp->qp_num : number; }

/// Calls call(driver, qp), which gives 0 or an errno and has explained itself, with the queue pair of the id,
/// or the one with this number.
template <typename Call>
Expected<void, Failure> with_queue_pair(const Id& id, std::uint32_t number, Call call) {
  const std::uint32_t qpn = qpn_of(id, number);
  const abi::Sibling* const driver = driver_of(id);
  if (driver == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_no_streams, qpn);
  ibv_qp* const qp = id.qp != nullptr ? id.qp : driver->find_qp(id.verbs, qpn);
  if (qp == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_qp_unknown, qpn);
  if (const int error = call(*driver, qp)) return Unexpected{Failure{error, {}}};
  return {};
}

/// As connecting does it on devices of other kinds: what a program has set before for a queue pair of rdma_cm
/// is set anew, by this library and by rdma-core's (INIT once more, in rdma_accept).
int allow_everything(ibv_qp& qp) {
  ibv_qp_attr attributes{};
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  return ibv_modify_qp(&qp, &attributes, IBV_QP_ACCESS_FLAGS);
}

Expected<void, Failure> start_queue_pair(const Id& id, const control::CmStream& stream) {
  if (!stream.socket) return rnic::refused(EMFILE, ReasonId::rdma_stream_missing);
  return with_queue_pair(id, id.stream_qpn, [&](const abi::Sibling& driver, ibv_qp* qp) {
    if (id.qp != nullptr) {
      if (const int error = allow_everything(*qp)) return error;
    }
    return driver.start_stream(qp, stream.socket.get(), &stream.grant);
  });
}

}  // namespace

bool has_streams(const Id& id) {
  return id.verbs != nullptr && id.verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

Expected<void, Failure> may_start_stream(const Id& id, const rdma_conn_param* given) {
  const UniqueFd room(eventfd(0, EFD_CLOEXEC));
  if (!room) return rnic::refused(errno, ReasonId::out_of_fds, errno);
  return with_queue_pair(id, given != nullptr ? given->qp_num : 0,
                         [](const abi::Sibling& driver, ibv_qp* qp) { return driver.may_start_stream(qp); });
}

// A thread may call rdma_disconnect while another fetches the event that brings the stream.
Expected<void, Failure> start_stream(Id& id, control::CmStream stream) {
  auto started = start_queue_pair(id, stream);
  if (started) {
    static_cast<void>(stream.socket.release());
    id.stream_token = stream.grant.token;
    if (id.disconnected) close_stream(id);
  } else {
    stream.socket.reset();
    static_cast<void>(id.session->daemon.streams_ended(std::span(&stream.grant.token, 1)));
  }
  return started;
}

void close_stream(const Id& id) {
  if (const abi::Sibling* const driver = driver_of(id))
    driver->close_stream(id.verbs, qpn_of(id, id.stream_qpn), id.stream_token);
}

void abort_stream(const Id& id) {
  if (const abi::Sibling* const driver = driver_of(id))
    driver->abort_stream(id.verbs, qpn_of(id, id.stream_qpn), id.stream_token);
}

}  // namespace softrnic::rdmacm
