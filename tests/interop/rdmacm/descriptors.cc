// The flow of a well-known tutorial: buffer descriptors are exchanged by SEND, then the client WRITEs
// its buffer into the server's memory and READs it back. The peer's key is the lkey, as the tutorial has
// it. Blocking, one client.
//
//   descriptors PORT            the server
//   descriptors PORT HOST       the client

#include <memory>
#include <vector>

#include "tests/interop/rdmacm/program.h"

using interop::next_event;
using interop::require;
using interop::wait_event;

namespace {

constexpr std::size_t kBytes = 300'000;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

struct Descriptor {
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t key;
};

/// The verbs objects of one end.
struct End {
  rdma_cm_id* id = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* exchange = nullptr;
  Descriptor mine{};
  Descriptor theirs{};
  Descriptor buffers[2]{};  ///< [0] is sent, [1] received
};

void prepare(End& end, rdma_cm_id* id) {
  end.id = id;
  end.pd = ibv_alloc_pd(id->verbs);
  require(end.pd != nullptr, "ibv_alloc_pd");
  end.channel = ibv_create_comp_channel(id->verbs);
  require(end.channel != nullptr, "ibv_create_comp_channel");
  end.cq = ibv_create_cq(id->verbs, 16, nullptr, end.channel, 0);
  require(end.cq != nullptr, "ibv_create_cq");
  require(ibv_req_notify_cq(end.cq, 0) == 0, "ibv_req_notify_cq");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = end.cq;
  wanted.cap = {8, 8, 2, 2, 0};
  require(rdma_create_qp(id, end.pd, &wanted) == 0, "rdma_create_qp");
  end.exchange = ibv_reg_mr(end.pd, end.buffers, sizeof end.buffers, kAccess);
  require(end.exchange != nullptr, "ibv_reg_mr");
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(&end.buffers[1]), sizeof(Descriptor), end.exchange->lkey};
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  require(ibv_post_recv(id->qp, &wr, &bad) == 0, "ibv_post_recv");
}

/// Waits for `count` completions, by notification as the tutorial does.
void complete(End& end, int count) {
  while (count > 0) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    require(ibv_get_cq_event(end.channel, &cq, &context) == 0, "ibv_get_cq_event");
    ibv_ack_cq_events(cq, 1);
    require(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 1) {
      if (wc.status != IBV_WC_SUCCESS) std::fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
      require(wc.status == IBV_WC_SUCCESS, "a completion");
      --count;
    }
  }
}

void send(End& end, ibv_wr_opcode opcode, const ibv_mr& mr, std::uint32_t length) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(mr.addr), length, mr.lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = end.theirs.address;
  wr.wr.rdma.rkey = end.theirs.key;
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(end.id->qp, &wr, &bad) == 0, "ibv_post_send");
}

void send_descriptor(End& end, const ibv_mr& mr) {
  end.buffers[0] = {reinterpret_cast<std::uintptr_t>(mr.addr), static_cast<std::uint32_t>(mr.length),
                    mr.lkey};
  send(end, IBV_WR_SEND, *end.exchange, sizeof(Descriptor));
}

void release(End& end) {
  rdma_destroy_qp(end.id);
  require(rdma_destroy_id(end.id) == 0, "rdma_destroy_id");
  require(ibv_destroy_cq(end.cq) == 0 && ibv_destroy_comp_channel(end.channel) == 0, "destroying the CQ");
  require(ibv_dereg_mr(end.exchange) == 0 && ibv_dealloc_pd(end.pd) == 0, "releasing memory");
}

void serve(std::uint16_t port) {
  rdma_event_channel* events = rdma_create_event_channel();
  require(events != nullptr, "rdma_create_event_channel");
  rdma_cm_id* listener = interop::listen_on(events, port);
  rdma_cm_event* request = next_event(events, RDMA_CM_EVENT_CONNECT_REQUEST);
  End end;
  prepare(end, request->id);
  require(rdma_ack_cm_event(request) == 0, "rdma_ack_cm_event");
  rdma_conn_param parameters{};
  parameters.initiator_depth = parameters.responder_resources = 3;
  require(rdma_accept(end.id, &parameters) == 0, "rdma_accept");
  wait_event(events, RDMA_CM_EVENT_ESTABLISHED);
  complete(end, 1);
  std::vector<char> memory(end.buffers[1].length);
  ibv_mr* mr = ibv_reg_mr(end.pd, memory.data(), memory.size(), kAccess);
  require(mr != nullptr, "ibv_reg_mr");
  send_descriptor(end, *mr);
  complete(end, 1);
  // From here on this side sleeps while its memory is written and read.
  wait_event(events, RDMA_CM_EVENT_DISCONNECTED);
  std::size_t right = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) right += memory[i] == static_cast<char>(i * 7 + 1);
  std::printf("%zu of %zu bytes are right\n", right, memory.size());
  require(right == kBytes, "the written memory");
  require(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
  release(end);
  require(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
  rdma_destroy_event_channel(events);
}

void request(const char* host, const char* port) {
  rdma_event_channel* events = rdma_create_event_channel();
  require(events != nullptr, "rdma_create_event_channel");
  End end;
  prepare(end, interop::resolve(events, host, port));
  rdma_conn_param parameters{};
  parameters.initiator_depth = parameters.responder_resources = 3;
  parameters.retry_count = 3;
  require(rdma_connect(end.id, &parameters) == 0, "rdma_connect");
  wait_event(events, RDMA_CM_EVENT_ESTABLISHED);
  std::vector<char> source(kBytes), back(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) source[i] = static_cast<char>(i * 7 + 1);
  ibv_mr* source_mr = ibv_reg_mr(end.pd, source.data(), kBytes, kAccess);
  ibv_mr* back_mr = ibv_reg_mr(end.pd, back.data(), kBytes, kAccess);
  require(source_mr != nullptr && back_mr != nullptr, "ibv_reg_mr");
  send_descriptor(end, *source_mr);
  complete(end, 2);
  end.theirs = end.buffers[1];
  send(end, IBV_WR_RDMA_WRITE, *source_mr, kBytes);
  complete(end, 1);
  send(end, IBV_WR_RDMA_READ, *back_mr, kBytes);
  complete(end, 1);
  require(source == back, "comparing the buffers");
  require(rdma_disconnect(end.id) == 0, "rdma_disconnect");
  wait_event(events, RDMA_CM_EVENT_DISCONNECTED);
  std::printf("written and read back: %zu bytes are equal\n", back.size());
  require(ibv_dereg_mr(source_mr) == 0 && ibv_dereg_mr(back_mr) == 0, "ibv_dereg_mr");
  release(end);
  rdma_destroy_event_channel(events);
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 2 || argc == 3, "usage: descriptors PORT [HOST]; this");
  if (argc == 2) {
    serve(static_cast<std::uint16_t>(interop::number(argv[1])));
  } else {
    request(argv[2], argv[1]);
  }
  return 0;
}
