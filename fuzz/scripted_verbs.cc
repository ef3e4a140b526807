#include "fuzz/scripted_verbs.h"

#include <sys/eventfd.h>

#include "copy/board.h"

namespace softrnic::fuzz {
namespace {

ScriptedVerbs* verbs = nullptr;  ///< the one there is

}  // namespace

ScriptedVerbs::ScriptedVerbs(Input& input, bool within_host) : input_(input), wake_(eventfd(1, EFD_CLOEXEC)) {
  verbs = this;
  device_.transport_type = IBV_TRANSPORT_IB;
  context_.device = &device_;
  context_.ops.post_send = post_send;
  context_.ops.post_recv = post_receive;
  context_.ops.poll_cq = poll;
  context_.ops.req_notify_cq = [](ibv_cq*, int) { return 0; };
  here_.sin_family = there_.sin_family = AF_INET;
  here_.sin_addr.s_addr = htobe32(INADDR_LOOPBACK);
  there_.sin_addr.s_addr = htobe32(within_host ? INADDR_LOOPBACK : INADDR_LOOPBACK + 1);
}

ScriptedVerbs::~ScriptedVerbs() { verbs = nullptr; }

rdma_cm_id* ScriptedVerbs::make_id() {
  auto* const id = new rdma_cm_id{};
  id->verbs = &context_;
  std::memcpy(&id->route.addr.src_sin, &here_, sizeof here_);
  std::memcpy(&id->route.addr.dst_sin, &there_, sizeof there_);
  return id;
}

ibv_qp* ScriptedVerbs::make_queue_pair() {
  auto& made = queue_pairs_.emplace_back(std::make_unique<QueuePair>());
  made->qp.context = &context_;
  made->qp.qp_num = ++made_;
  return &made->qp;
}

ScriptedVerbs::QueuePair* ScriptedVerbs::find(const ibv_qp* qp) {
  for (const auto& one : queue_pairs_)
    if (&one->qp == qp) return one.get();
  return nullptr;
}

void ScriptedVerbs::forget(ibv_qp* queue_pair) {
  std::erase_if(queue_pairs_, [&](const auto& one) { return &one->qp == queue_pair; });
}

ibv_mr* ScriptedVerbs::make_region(void* address, std::size_t length) {
  auto* const region = new ibv_mr{};
  region->context = &context_;
  region->addr = address;
  region->length = length;
  region->lkey = region->rkey = ++made_;
  return region;
}

int ScriptedVerbs::post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr**) {
  for (; wr != nullptr; wr = wr->next) verbs->sent(qp, *wr);
  return 0;
}

int ScriptedVerbs::post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr**) {
  QueuePair* const over = verbs->find(qp);
  for (; over != nullptr && wr != nullptr; wr = wr->next) {
    over->receives.push_back(*wr);
    over->places.push_back(wr->num_sge != 0 ? wr->sg_list[0] : ibv_sge{});
  }
  return 0;
}

void ScriptedVerbs::sent(ibv_qp*, const ibv_send_wr& wr) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(wr.sg_list[0].addr), wr.sg_list[0].length);
  std::byte all{};
  for (const std::byte one : bytes) all ^= one;  // the address sanitizer looks whether it is there
  asm volatile("" : : "r"(all));
  ibv_wc done{};
  done.wr_id = wr.wr_id;
  done.opcode = wr.opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
  completions_.push_back(done);
  if (wr.opcode == IBV_WR_SEND && greeter_ && !greeter_(*this, bytes)) greeter_ = {};
  if (wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || (boards_ && bytes.size() != copy::Board::kWord)) ++taken_;
}

/// Takes a receive of the queue pair; none: there is none, and nothing arrives.
std::optional<ibv_wc> ScriptedVerbs::receive(std::size_t queue_pair, Bytes message) {
  if (queue_pair >= queue_pairs_.size() || queue_pairs_[queue_pair]->receives.empty()) return std::nullopt;
  QueuePair& over = *queue_pairs_[queue_pair];
  const ibv_sge place = over.places.front();
  ibv_wc out{};
  out.wr_id = over.receives.front().wr_id;
  out.opcode = IBV_WC_RECV;
  out.byte_len = static_cast<std::uint32_t>(std::min<std::size_t>(message.size(), place.length));
  if (out.byte_len != 0) std::memcpy(reinterpret_cast<void*>(place.addr), message.data(), out.byte_len);
  over.receives.pop_front();
  over.places.pop_front();
  return out;
}

void ScriptedVerbs::deliver(Bytes message) {
  if (const auto arrived = receive(0, message)) completions_.push_back(*arrived);
}

void ScriptedVerbs::write(std::uint64_t offset, Bytes bytes) {
  const std::uint64_t end = ring_.bytes() + copy::Board::size(ring_.slots);
  if (ring_.address == 0 || offset > end || bytes.size() > end - offset) return;
  std::memcpy(reinterpret_cast<void*>(ring_.address + offset), bytes.data(), bytes.size());
}

void ScriptedVerbs::told_frame(std::uint32_t queue_pair, std::uint32_t slot, std::uint32_t length) {
  auto arrived = receive(queue_pair, {});
  if (!arrived) return;
  arrived->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  arrived->wc_flags = IBV_WC_WITH_IMM;
  arrived->imm_data = htobe32(slot);
  arrived->byte_len = length;
  completions_.push_back(*arrived);
}

/// In its turn, as an honest peer does it.
void ScriptedVerbs::frame() {
  const Bytes bytes = input_.take_bytes(input_.take<std::uint16_t>());
  if (ring_.slots == 0 || queue_pairs_.empty()) return;
  const auto slot = static_cast<std::uint32_t>(frames_ % ring_.slots);
  const auto length = static_cast<std::uint32_t>(bytes.size());
  write(std::uint64_t{slot} * ring_.slot_size, bytes);
  if (boards_) {
    const std::uint64_t word = htole64(copy::BoardEntry::of(frames_, length).word());
    write(ring_.bytes() + slot * copy::Board::kWord, std::as_bytes(std::span(&word, 1)));
  } else {
    told_frame(static_cast<std::uint32_t>(frames_ % queue_pairs_.size()), slot, length);
  }
  ++frames_;
}

void ScriptedVerbs::next_arrival() {
  enum { frame_in_turn, frame_of_any_place, message, credit, board_word, kinds };
  const auto chosen = input_.take<std::uint8_t>();
  switch (chosen % kinds) {
    case frame_in_turn:
      return frame();
    case frame_of_any_place: {
      const auto slot = input_.take<std::uint32_t>();
      return told_frame(chosen >> 5, slot, input_.take<std::uint32_t>());
    }
    case message:
      return deliver(input_.take_bytes(input_.take<std::uint8_t>()));
    case credit:
      return deliver(copy::make_message(copy::Credit{taken_ + (chosen >> 7)}).view());
    default: {
      const std::uint64_t word = input_.take<std::uint8_t>() % (ring_.slots + 2);
      const auto value = input_.take<std::uint64_t>();
      write(ring_.bytes() + word * copy::Board::kWord, std::as_bytes(std::span(&value, 1)));
    }
  }
}

int ScriptedVerbs::poll(ibv_cq*, int most, ibv_wc* out) {
  if (most < 1) return 0;
  if (verbs->completions_.empty() && !verbs->input_.empty() && !verbs->greeter_) verbs->next_arrival();
  if (!verbs->completions_.empty()) {
    *out = verbs->completions_.front();
    verbs->completions_.pop_front();
    return 1;
  }
  return verbs->input_.empty() || verbs->greeter_ ? verbs->flush(*out) : poll(nullptr, most, out);
}

/// The connection is broken: each receive completes, once.
int ScriptedVerbs::flush(ibv_wc& out) {
  for (const auto& one : queue_pairs_) {
    if (one->receives.empty()) continue;
    out = {};
    out.wr_id = one->receives.front().wr_id;
    out.status = IBV_WC_WR_FLUSH_ERR;
    one->receives.pop_front();
    one->places.pop_front();
    return 1;
  }
  return 0;
}

}  // namespace softrnic::fuzz

using softrnic::fuzz::verbs;

// What inline functions of the headers do not do. What cannot fail here returns success.
extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{context, 0}; }
int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}
ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return new ibv_comp_channel{context, verbs->wake_fd(), 0};
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  delete channel;
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int, void*, ibv_comp_channel* channel, int) {
  auto* const queue = new ibv_cq{};
  queue->context = context;
  queue->channel = channel;
  return queue;
}
int ibv_resize_cq(ibv_cq*, int) { return 0; }
int ibv_destroy_cq(ibv_cq* queue) {
  delete queue;
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**) { return -1; }
void ibv_ack_cq_events(ibv_cq*, unsigned) {}
#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd*, void* address, std::size_t length, int) {
  return verbs->make_region(address, length);
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void* address, std::size_t length, std::uint64_t, unsigned) {
  return verbs->make_region(address, length);
}
int ibv_dereg_mr(ibv_mr* region) {
  delete region;
  return 0;
}
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr*) { return verbs->make_queue_pair(); }
int ibv_query_qp(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*) { return 0; }
int ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int) { return 0; }
int ibv_destroy_qp(ibv_qp* qp) {
  verbs->forget(qp);
  return 0;
}
const char* ibv_wc_status_str(ibv_wc_status) { return "flushed"; }

rdma_event_channel* rdma_create_event_channel() { return new rdma_event_channel{verbs->wake_fd()}; }
void rdma_destroy_event_channel(rdma_event_channel* channel) { delete channel; }
int rdma_create_id(rdma_event_channel*, rdma_cm_id** id, void*, rdma_port_space) {
  *id = verbs->make_id();
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  delete id;
  return 0;
}
int rdma_migrate_id(rdma_cm_id*, rdma_event_channel*) { return 0; }
int rdma_bind_addr(rdma_cm_id*, sockaddr*) { return -1; }
int rdma_listen(rdma_cm_id*, int) { return -1; }
int rdma_resolve_addr(rdma_cm_id*, sockaddr*, sockaddr*, int) {
  verbs->ask(RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}
int rdma_resolve_route(rdma_cm_id*, int) {
  verbs->ask(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}
int rdma_create_qp(rdma_cm_id* id, ibv_pd*, ibv_qp_init_attr*) {
  id->qp = verbs->make_queue_pair();
  return 0;
}
void rdma_destroy_qp(rdma_cm_id* id) { verbs->forget(id->qp); }
int rdma_connect(rdma_cm_id*, rdma_conn_param*) {
  verbs->ask(RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}
int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) { return rdma_connect(id, parameters); }
int rdma_reject(rdma_cm_id*, const void*, std::uint8_t) { return 0; }
int rdma_disconnect(rdma_cm_id*) { return 0; }
int rdma_get_cm_event(rdma_event_channel*, rdma_cm_event** event) {
  *event = new rdma_cm_event{};
  (*event)->event = verbs->next_event();
  return 0;
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  delete event;
  return 0;
}
const char* rdma_event_str(rdma_cm_event_type) { return "an event"; }
__be16 rdma_get_src_port(rdma_cm_id*) { return 0; }

}  // extern "C"
