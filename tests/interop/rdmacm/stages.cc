// Both ends of a connection, each of which stops at a stage of its life until SIGUSR1, so
// that it can be killed there.
//
//   stages server SPACE PORT STAGE          accepts one client after another, until one asked for an end (a
//                                           `whole` client)
//   stages client SPACE PORT STAGE HOST     ends when the connection has failed or is over
//   stages whole SPACE PORT STAGE HOST      the same, but it must succeed
//
// SPACE: tcp or udp. STAGE: see kStages; "-" for none. Each stage that is reached is printed.

#include <csignal>
#include <string_view>

#include "tests/interop/rdmacm/program.h"

using interop::next_event;
using interop::require;
using interop::wait_event;

namespace {

constexpr std::string_view kStages[] = {
    "created",     "bound",                          // server
    "listening",   "requested",     "accepted",      //
    "resolving",   "resolved",      "routed",        // client
    "connecting",  "responded",                      //
    "established", "disconnecting", "disconnected",  // both
};

class Life {
 public:
  Life(std::string_view stops_at, bool datagrams) : stops_at_(stops_at), datagrams_(datagrams) {
    bool known = stops_at == "-";
    for (const std::string_view stage : kStages) known |= stage == stops_at;
    require(known, "looking for the stage");
    sigset_t go;
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    require(sigprocmask(SIG_BLOCK, &go, nullptr) == 0, "sigprocmask");
    channel = rdma_create_event_channel();
    require(channel != nullptr, "rdma_create_event_channel");
  }

  /// Says so, and stops here when this is the stage; once.
  void reached(std::string_view stage) {
    std::printf("at %s\n", stage.data());
    std::fflush(stdout);
    if (stage != stops_at_) return;
    stops_at_ = "-";
    sigset_t go;
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    int number = 0;
    require(sigwait(&go, &number) == 0, "sigwait");
  }
  bool stops_at(std::string_view stage) const { return stops_at_ == stage; }
  bool datagrams() const { return datagrams_; }
  rdma_port_space space() const { return datagrams_ ? RDMA_PS_UDP : RDMA_PS_TCP; }

  rdma_event_channel* channel = nullptr;

 private:
  std::string_view stops_at_;
  bool datagrams_;
};

ibv_qp_init_attr queues(const Life& life) {
  ibv_qp_init_attr wanted{};
  wanted.qp_type = life.datagrams() ? IBV_QPT_UD : IBV_QPT_RC;
  wanted.cap = {4, 4, 1, 1, 0};
  return wanted;
}

void make_queue_pair(rdma_cm_id* id, const Life& life) {
  ibv_qp_init_attr wanted = queues(life);
  require(rdma_create_qp(id, nullptr, &wanted) == 0, "rdma_create_qp");
}

void destroy(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
  require(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

rdma_conn_param parameters(rdma_cm_id* id, const char& last) {
  rdma_conn_param wanted{};
  wanted.responder_resources = wanted.initiator_depth = 1;
  wanted.retry_count = 7;
  wanted.qp_num = id->qp != nullptr ? id->qp->qp_num : 1;
  wanted.private_data = &last;
  wanted.private_data_len = 1;
  return wanted;
}

/// Accepts. Whether that was all: the client has asked for the end of the server, and has its
/// queue pair of datagrams.
bool answer(Life& life, rdma_cm_event& event) {
  rdma_cm_id* id = event.id;
  const void* data = life.datagrams() ? event.param.ud.private_data : event.param.conn.private_data;
  const bool last = *static_cast<const char*>(data) == 1;
  require(rdma_ack_cm_event(&event) == 0, "rdma_ack_cm_event");
  life.reached("requested");
  make_queue_pair(id, life);
  rdma_conn_param wanted = parameters(id, "\0"[0]);
  // The client may have gone since it asked.
  const bool accepted = rdma_accept(id, &wanted) == 0;
  id->context = last ? &life : nullptr;
  life.reached("accepted");
  if (!accepted || life.datagrams()) destroy(id);
  return last && life.datagrams();
}

/// One event of an accepted connection; false when the connection is over.
bool goes_on(Life& life, rdma_cm_id* id, rdma_cm_event_type type) {
  if (type != RDMA_CM_EVENT_ESTABLISHED) return false;
  life.reached("established");
  if (life.stops_at("disconnecting")) {
    require(rdma_disconnect(id) == 0, "rdma_disconnect");
    life.reached("disconnecting");
  }
  return true;
}

void serve(Life& life, std::uint16_t port) {
  rdma_cm_id* listener = nullptr;
  require(rdma_create_id(life.channel, &listener, nullptr, life.space()) == 0, "rdma_create_id");
  life.reached("created");
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  require(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&any)) == 0, "rdma_bind_addr");
  life.reached("bound");
  require(rdma_listen(listener, 16) == 0, "rdma_listen");
  life.reached("listening");
  for (bool over = false; !over;) {
    rdma_cm_event* event = nullptr;
    require(rdma_get_cm_event(life.channel, &event) == 0, "rdma_get_cm_event");
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
      over = answer(life, *event);
      continue;
    }
    rdma_cm_id* id = event->id;
    const rdma_cm_event_type type = event->event;
    require(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
    if (goes_on(life, id, type)) continue;
    over = id->context == &life;
    std::printf("server: %s\n", rdma_event_str(type));
    life.reached("disconnected");
    destroy(id);
  }
  require(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
}

rdma_cm_id* resolve(Life& life, const char* host, const char* port) {
  rdma_cm_id* id = nullptr;
  require(rdma_create_id(life.channel, &id, nullptr, life.space()) == 0, "rdma_create_id");
  life.reached("created");
  rdma_addrinfo hints{};
  hints.ai_port_space = life.space();
  rdma_addrinfo* found = nullptr;
  require(rdma_getaddrinfo(host, port, &hints, &found) == 0, "rdma_getaddrinfo");
  require(rdma_resolve_addr(id, nullptr, found->ai_dst_addr, 2000) == 0, "rdma_resolve_addr");
  rdma_freeaddrinfo(found);
  life.reached("resolving");
  wait_event(life.channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  life.reached("resolved");
  require(rdma_resolve_route(id, 2000) == 0, "rdma_resolve_route");
  wait_event(life.channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  life.reached("routed");
  return id;
}

rdma_cm_event_type take_event(Life& life) {
  rdma_cm_event* event = nullptr;
  require(rdma_get_cm_event(life.channel, &event) == 0, "rdma_get_cm_event");
  const rdma_cm_event_type type = event->event;
  std::printf("client: %s, status %d\n", rdma_event_str(type), event->status);
  require(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
  return type;
}

/// Whether the connection came about.
bool connect(Life& life, rdma_cm_id* id, bool whole) {
  // A program with a queue pair of its own hears of the reply; the library answers it otherwise.
  if (!life.stops_at("responded")) make_queue_pair(id, life);
  rdma_conn_param wanted = parameters(id, whole ? "\1"[0] : "\0"[0]);
  require(rdma_connect(id, &wanted) == 0, "rdma_connect");
  life.reached("connecting");
  rdma_cm_event_type type = take_event(life);
  if (type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
    life.reached("responded");
    if (rdma_establish(id) != 0) return false;  // the server has gone
    type = RDMA_CM_EVENT_ESTABLISHED;
  }
  return type == RDMA_CM_EVENT_ESTABLISHED;
}

void request(Life& life, const char* host, const char* port, bool whole) {
  rdma_cm_id* id = resolve(life, host, port);
  const bool connected = connect(life, id, whole);
  require(connected || !whole, "connecting");
  if (connected) {
    life.reached("established");
    const bool leaves = whole || life.stops_at("disconnecting") || life.stops_at("disconnected");
    if (leaves && !life.datagrams()) require(rdma_disconnect(id) == 0, "rdma_disconnect");
    life.reached("disconnecting");
    if (!life.datagrams()) require(take_event(life) == RDMA_CM_EVENT_DISCONNECTED, "waiting for the end");
    life.reached("disconnected");
  }
  destroy(id);
}

}  // namespace

int main(int argc, char** argv) {
  require(argc >= 5, "usage: stages server|client|whole tcp|udp PORT STAGE [HOST]; this");
  const std::string_view role = argv[1];
  Life life(argv[4], std::string_view(argv[2]) == "udp");
  if (role == "server") {
    serve(life, static_cast<std::uint16_t>(interop::number(argv[3])));
  } else {
    require(argc == 6, "a client without a host");
    request(life, argv[5], argv[3], role == "whole");
  }
  rdma_destroy_event_channel(life.channel);
  return 0;
}
