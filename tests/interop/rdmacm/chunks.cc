// The flow of another well-known tutorial: an event loop, a thread that waits for completions, many clients
// at once. A client pushes chunks of 10 MiB by WRITE_WITH_IMM; the server posts its next receive only after
// it has looked at a chunk (so the client runs into RNR), answers each by SEND, and disconnects from the
// completion thread after the last.
//
//   chunks PORT CLIENTS CHUNKS            the server; ends after CLIENTS clients
//   chunks PORT CLIENTS CHUNKS HOST       CLIENTS clients, each in a thread

#include <memory>
#include <thread>
#include <vector>

#include "tests/interop/rdmacm/program.h"

using interop::require;

namespace {

constexpr std::uint32_t kChunk = 10U << 20;
constexpr std::uint8_t kForEver = 7;

/// What the server tells a client: where to write, and after each chunk that it may go on.
struct Message {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t taken = 0;  ///< chunks
};

char byte_of(std::uint32_t chunk, std::size_t i) { return static_cast<char>(i * 13 + chunk); }

/// A connection, with memory for one chunk and one message each way.
struct Connection {
  rdma_cm_id* id = nullptr;
  std::vector<char> chunk = std::vector<char>(kChunk);
  Message in, out;
  ibv_mr* chunk_mr = nullptr;
  ibv_mr* in_mr = nullptr;
  ibv_mr* out_mr = nullptr;
  std::uint32_t chunks = 0;  ///< taken by the server, sent by the client
  std::uint64_t wrong = 0;
};

/// Shared with its completion thread, which waits for an event that never comes when all
/// is done: lives for ever.
struct Loop {
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  std::uint32_t chunks = 0;
  bool is_server = false;
};

void post_receive(Connection& c) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(&c.in), sizeof c.in, c.in_mr->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = reinterpret_cast<std::uintptr_t>(&c);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  require(ibv_post_recv(c.id->qp, &wr, &bad) == 0, "ibv_post_recv");
}

void send_message(Connection& c) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(&c.out), sizeof c.out, c.out_mr->lkey};
  ibv_send_wr wr{};
  wr.wr_id = reinterpret_cast<std::uintptr_t>(&c);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(c.id->qp, &wr, &bad) == 0, "ibv_post_send");
}

/// Writes the next chunk; the immediate data is its number. After the last: a write of nothing at all.
void send_chunk(Connection& c, std::uint32_t chunks) {
  const bool last = c.chunks == chunks;
  for (std::size_t i = 0; i < kChunk && !last; ++i) c.chunk[i] = byte_of(c.chunks, i);
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(c.chunk.data()), kChunk, c.chunk_mr->lkey};
  ibv_send_wr wr{};
  wr.wr_id = reinterpret_cast<std::uintptr_t>(&c);
  wr.sg_list = &sge;
  wr.num_sge = last ? 0 : 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = htonl(c.chunks);
  wr.wr.rdma.remote_addr = last ? 0 : c.in.address;
  wr.wr.rdma.rkey = last ? 0 : c.in.rkey;
  ++c.chunks;
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(c.id->qp, &wr, &bad) == 0, "ibv_post_send");
}

void server_took(Connection& c, const ibv_wc& wc, std::uint32_t chunks) {
  require(ntohl(wc.imm_data) == c.chunks, "the order of the chunks");
  if (c.chunks++ == chunks) {
    require(wc.byte_len == 0, "the length of the last write");
    require(rdma_disconnect(c.id) == 0, "rdma_disconnect");
    return;
  }
  require(wc.byte_len == kChunk, "byte_len of a chunk");
  for (std::size_t i = 0; i < kChunk; ++i) c.wrong += c.chunk[i] != byte_of(c.chunks - 1, i);
  c.out.taken = c.chunks;
  send_message(c);
  post_receive(c);  // late: the client may be there already
}

void completed(Loop& loop, const ibv_wc& wc) {
  if (wc.status == IBV_WC_WR_FLUSH_ERR) return;  // what was posted when the connection ended
  if (wc.status != IBV_WC_SUCCESS) std::fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  require(wc.status == IBV_WC_SUCCESS, "a completion");
  Connection& c = *reinterpret_cast<Connection*>(wc.wr_id);
  if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) return server_took(c, wc, loop.chunks);
  if (wc.opcode != IBV_WC_RECV) return;
  require(c.in.taken == c.chunks, "the number of chunks taken");
  post_receive(c);
  send_chunk(c, loop.chunks);
}

void poll(Loop& loop) {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(loop.channel, &cq, &context) == 0) {
    ibv_ack_cq_events(cq, 1);
    require(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 1) completed(loop, wc);
  }
}

void start(Loop& loop, ibv_context* verbs) {
  if (loop.pd != nullptr) return;
  loop.pd = ibv_alloc_pd(verbs);
  loop.channel = ibv_create_comp_channel(verbs);
  require(loop.pd != nullptr && loop.channel != nullptr, "creating the verbs objects");
  loop.cq = ibv_create_cq(verbs, 1000, nullptr, loop.channel, 0);
  require(loop.cq != nullptr && ibv_req_notify_cq(loop.cq, 0) == 0, "ibv_create_cq");
  std::thread([&loop] { poll(loop); }).detach();
}

Connection* prepare(Loop& loop, rdma_cm_id* id) {
  start(loop, id->verbs);
  auto* c = new Connection;
  c->id = id;
  id->context = c;
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = loop.cq;
  wanted.cap = {10, 10, 1, 1, 0};
  require(rdma_create_qp(id, loop.pd, &wanted) == 0, "rdma_create_qp");
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  c->chunk_mr = ibv_reg_mr(loop.pd, c->chunk.data(), kChunk, access);
  c->in_mr = ibv_reg_mr(loop.pd, &c->in, sizeof c->in, access);
  c->out_mr = ibv_reg_mr(loop.pd, &c->out, sizeof c->out, access);
  require(c->chunk_mr != nullptr && c->in_mr != nullptr && c->out_mr != nullptr, "ibv_reg_mr");
  post_receive(*c);
  return c;
}

rdma_conn_param parameters() {
  rdma_conn_param p{};
  p.initiator_depth = p.responder_resources = 1;
  p.rnr_retry_count = kForEver;
  return p;
}

/// A connection has ended: gives it back. The number of wrong bytes.
std::uint64_t finish(rdma_cm_id* id) {
  auto* c = static_cast<Connection*>(id->context);
  const std::uint64_t wrong = c->wrong;
  rdma_destroy_qp(id);
  require(ibv_dereg_mr(c->chunk_mr) == 0 && ibv_dereg_mr(c->in_mr) == 0 && ibv_dereg_mr(c->out_mr) == 0,
          "ibv_dereg_mr");
  require(rdma_destroy_id(id) == 0, "rdma_destroy_id");
  delete c;
  return wrong;
}

void serve_event(Loop& loop, rdma_cm_event_type type, rdma_cm_id* id) {
  rdma_conn_param p = parameters();
  if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    prepare(loop, id);
    require(rdma_accept(id, &p) == 0, "rdma_accept");
  } else {
    require(type == RDMA_CM_EVENT_ESTABLISHED, "an event of the server");
    auto* c = static_cast<Connection*>(id->context);
    c->out = {reinterpret_cast<std::uintptr_t>(c->chunk.data()), c->chunk_mr->rkey, 0};
    send_message(*c);
  }
}

/// Until `clients` connections have ended.
void run(Loop& loop, rdma_event_channel* events, std::uint32_t clients) {
  std::uint64_t wrong = 0;
  for (std::uint32_t ended = 0; ended < clients;) {
    rdma_cm_event* event = nullptr;
    require(rdma_get_cm_event(events, &event) == 0, "rdma_get_cm_event");
    const rdma_cm_event_type type = event->event;
    rdma_cm_id* id = event->id;
    require(event->status == 0, rdma_event_str(type));
    require(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
    if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT) continue;
    if (type == RDMA_CM_EVENT_DISCONNECTED) {
      wrong += finish(id);
      ++ended;
    } else if (loop.is_server) {
      serve_event(loop, type, id);
    }
  }
  require(wrong == 0, "comparing the bytes");
}

void serve(std::uint16_t port, std::uint32_t clients, std::uint32_t chunks) {
  Loop& loop = *new Loop;
  loop.chunks = chunks;
  loop.is_server = true;
  rdma_event_channel* events = rdma_create_event_channel();
  require(events != nullptr, "rdma_create_event_channel");
  rdma_cm_id* listener = interop::listen_on(events, port);
  run(loop, events, clients);
  std::printf("%u clients served, %u chunks each, every byte right\n", clients, chunks);
  std::fflush(stdout);
  require(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
  rdma_destroy_event_channel(events);
  std::_Exit(0);
}

void connect(const char* host, const char* port, std::uint32_t chunks) {
  Loop& loop = *new Loop;
  loop.chunks = chunks;
  rdma_event_channel* events = rdma_create_event_channel();
  require(events != nullptr, "rdma_create_event_channel");
  rdma_cm_id* id = interop::resolve(events, host, port);
  prepare(loop, id);
  rdma_conn_param p = parameters();
  require(rdma_connect(id, &p) == 0, "rdma_connect");
  run(loop, events, 1);
  rdma_destroy_event_channel(events);
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 4 || argc == 5, "usage: chunks PORT CLIENTS CHUNKS [HOST]; this");
  const auto clients = interop::number(argv[2]);
  const auto chunks = interop::number(argv[3]);
  if (argc == 4) serve(static_cast<std::uint16_t>(interop::number(argv[1])), clients, chunks);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < clients; ++i)
    threads.emplace_back([&] { connect(argv[4], argv[1], chunks); });
  for (std::thread& thread : threads) thread.join();
  std::printf("%u clients done\n", clients);
  std::fflush(stdout);
  std::_Exit(0);
}
