#include "abi/verbs/data_path.h"

#include <cerrno>

#include "abi/calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/objects.h"

namespace softrnic::abi {
namespace {

/// posts to whatever has post(): the errno, and `*bad_wr` also for programs that pass NULL for it.
template <typename Wr, typename Post>
int post(Wr* wr, Wr** bad_wr, Post&& to) {
  Wr* ignored = nullptr;
  Wr** const bad = bad_wr == nullptr ? &ignored : bad_wr;
  return errno_call([&] { return to(wr, bad); });
}

}  // namespace

int poll_cq(ibv_cq* cq, int count, ibv_wc* completions) { return Cq::of(cq)->impl->poll(count, completions); }

int request_notification(ibv_cq* cq, int solicited_only) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (cq->handle != Cq::of(cq)->made_handle) [[unlikely]]
      return check_given(cq);
    return Cq::of(cq)->impl->request_notification(solicited_only != 0);
  });
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  return post(wr, bad_wr, [&](auto* first, auto** bad) { return Qp::of(qp)->impl->post_send(first, bad); });
}

int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return post(wr, bad_wr, [&](auto* first, auto** bad) { return Qp::of(qp)->impl->post_recv(first, bad); });
}

int post_shared_receive(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return post(wr, bad_wr, [&](auto* first, auto** bad) { return Srq::of(srq)->impl->post(first, bad); });
}

int post_work_queue_receive(ibv_wq* wq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return post(wr, bad_wr, [&](auto* first, auto** bad) { return Wq::of(wq)->impl->post_recv(first, bad); });
}

}  // namespace softrnic::abi
