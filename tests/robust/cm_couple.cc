#include "cm_couple.h"

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "patience.h"
#include "tests/abi/cm_fixture.h"

namespace softrnic::robust {
namespace {

using abi_test::address_of;
using abi_test::generic;

constexpr std::size_t kLetter = 64;

ibv_qp_init_attr queues() {
  ibv_qp_init_attr attributes{};
  attributes.cap = {
      .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  return attributes;
}

bool completes(ibv_cq* cq) {
  Patience patience{std::chrono::seconds(20)};
  ibv_wc wc{};
  int got = 0;
  while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
    if (patience.over()) return false;
  return got == 1 && wc.status == IBV_WC_SUCCESS;
}

/// One end of a connection with a receive posted.
struct End {
  rdma_cm_id* id = nullptr;
  ibv_mr* mr = nullptr;
  std::array<char, 2 * kLetter> memory{};

  bool prepare(rdma_cm_id* of) {
    id = of;
    ibv_qp_init_attr attributes = queues();
    if (rdma_create_qp(id, nullptr, &attributes) != 0) return false;
    mr = rdma_reg_msgs(id, memory.data(), memory.size());
    return mr != nullptr && rdma_post_recv(id, nullptr, memory.data(), kLetter, mr) == 0;
  }
  bool say(char what) {
    std::memset(memory.data() + kLetter, what, kLetter);
    return rdma_post_send(id, nullptr, memory.data() + kLetter, kLetter, mr, 0) == 0 &&
           completes(id->send_cq);
  }
  bool hears(char what) {
    if (!completes(id->recv_cq)) return false;
    for (std::size_t i = 0; i < kLetter; ++i)
      if (memory[i] != what) return false;
    return rdma_post_recv(id, nullptr, memory.data(), kLetter, mr) == 0;
  }
};

bool next_is(rdma_event_channel* channel, rdma_cm_event_type wanted, rdma_cm_id** id = nullptr) {
  rdma_cm_event* event = nullptr;
  if (!abi_test::readable(channel->fd, 20000) || rdma_get_cm_event(channel, &event) != 0) return false;
  const bool is = event->event == wanted && event->status == 0;
  if (!is) fail(not_as_expected, rdma_event_str(wanted), rdma_event_str(event->event));
  if (id != nullptr) *id = event->id;
  rdma_ack_cm_event(event);
  return is;
}

bool connect(End& end, std::uint16_t port) {
  rdma_cm_id* id = nullptr;
  auto to = address_of("127.0.0.1", port);
  rdma_conn_param parameters{};
  parameters.retry_count = parameters.rnr_retry_count = 7;
  return rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) == 0 &&
         rdma_resolve_addr(id, nullptr, generic(to), 5000) == 0 && rdma_resolve_route(id, 5000) == 0 &&
         end.prepare(id) && rdma_connect(id, &parameters) == 0;
}

}  // namespace

int serve(const Line& tester) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  auto any = address_of("127.0.0.1");
  if (channel == nullptr || rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) != 0 ||
      rdma_bind_addr(listener, generic(any)) != 0 || rdma_listen(listener, 8) != 0)
    return fail(refused, "a listener");
  if (!tester.tell(rdma_get_src_port(listener))) return no_peer;
  std::vector<std::unique_ptr<End>> ends;
  char order = 0;
  while (tester.hear(order) && order != 'e') {
    if (order == 'c') {
      rdma_cm_id* id = nullptr;
      if (!next_is(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &id)) return fail(refused, "a request");
      ends.push_back(std::make_unique<End>());
      rdma_conn_param parameters{};
      if (!ends.back()->prepare(id) || rdma_accept(id, &parameters) != 0) return fail(refused, "accept");
      if (!next_is(channel, RDMA_CM_EVENT_ESTABLISHED)) return fail(refused, "established");
    }
    for (const auto& end : ends)
      if (!end->hears('q') || !end->say('a')) return fail(wrong_bytes, "a question");
    if (!tester.tell()) return no_peer;
  }
  return done;
}

int visit(const Line& tester) {
  std::uint16_t port = 0;
  if (!tester.hear(port)) return no_peer;
  std::vector<std::unique_ptr<End>> ends;
  char order = 0;
  while (tester.hear(order) && order != 'e') {
    if (order == 'c') {
      ends.push_back(std::make_unique<End>());
      if (!connect(*ends.back(), port)) return fail(refused, "a connection");
    }
    for (const auto& end : ends)
      if (!end->say('q') || !end->hears('a')) return fail(wrong_bytes, "an answer");
    if (!tester.tell()) return no_peer;
  }
  return done;
}

}  // namespace softrnic::robust
