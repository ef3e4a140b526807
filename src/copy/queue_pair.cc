#include "copy/queue_pair.h"

#include <algorithm>

namespace softrnic::copy {

ibv_qp_init_attr QueuePair::wanted(ibv_cq* queue) {
  ibv_qp_init_attr out{};
  out.qp_type = IBV_QPT_RC;
  out.send_cq = out.recv_cq = queue;
  out.cap.max_send_wr = kSends;
  out.cap.max_recv_wr = kReceives;
  out.cap.max_send_sge = out.cap.max_recv_sge = 1;
  out.cap.max_inline_data = kInlineBytes;
  out.sq_sig_all = 1;
  return out;
}

Result<void> QueuePair::post_all_receives() {
  for (std::uint32_t i = 0; i < kReceives; ++i)
    if (const auto posted = post_receive(i); !posted) return posted;
  return {};
}

Result<void> QueuePair::post_receive(std::uint32_t index) {
  unposted_.push_back(index);
  if (unposted_.size() < kRepost) return {};
  std::array<ibv_sge, kRepost> sges;
  std::array<ibv_recv_wr, kRepost> wrs{};
  for (std::size_t i = 0; i < kRepost; ++i) {
    wrs[i].wr_id = id_of(unposted_[i]);
    wrs[i].next = i + 1 < kRepost ? &wrs[i + 1] : nullptr;
    if (messages_ == nullptr) continue;
    sges[i] = {messages_->address() + unposted_[i] * kMaxMessage, kMaxMessage, messages_->lkey()};
    wrs[i].sg_list = &sges[i];
    wrs[i].num_sge = 1;
  }
  unposted_.clear();
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(qp_, wrs.data(), &bad)) return fail_errno("ibv_post_recv", error);
  return {};
}

Bytes QueuePair::received(const ibv_wc& completion) const {
  if (messages_ == nullptr) return {};
  return Bytes(messages_->bytes())
      .subspan(receive_of(completion) * kMaxMessage, std::min<std::size_t>(completion.byte_len, kMaxMessage));
}

Result<Serial> QueuePair::post(ibv_send_wr& wr) {
  wr.wr_id = id_of(0);
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(qp_, &wr, &bad))
    return fail_errno("ibv_post_send", error, Trouble::broken);
  return Serial{index_, ++posted_};
}

}  // namespace softrnic::copy
