// Work requests that are refused or fail, and completions and events that nobody looks at.
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "scene.h"

namespace reasons {
namespace {

void send_queue_full() {
  Setup slow;
  slow.timeout = 20;  // nothing fails while we look
  Side a(IBV_QPT_RC);
  must(a.to_init() == 0 && a.to_rtr(0xfffffe, slow) == 0 && a.to_rts(slow) == 0, "RTS");
  int posted = 0;
  while (a.send(64) == 0) ++posted;
  must(errno != 0, "errno");
  expect(a.qpn(), kSendId,
         "the send queue is full: " + number(static_cast<unsigned>(posted)) + " work requests are");
}

// ENOMEM as back-pressure: the user is told, and is not flooded (reasons.py counts the lines).
void back_pressure() {
  Setup slow;
  slow.timeout = 20;
  Side a(IBV_QPT_RC);
  must(a.to_init() == 0 && a.to_rtr(0xfffffe, slow) == 0 && a.to_rts(slow) == 0, "RTS");
  for (int i = 0; i < 20000; ++i) static_cast<void>(a.send(64));
  expect(a.qpn(), kSendId, "the send queue is full: 4 work requests are outstanding");
}

void receive_queue_full() {
  Side a(IBV_QPT_RC);
  must(a.to_init() == 0, "INIT");
  while (a.receive(kReceiveId, 64) == 0) continue;
  expect(a.qpn(), kReceiveId, "the receive queue is full: 4 work requests are posted");
}

void posts_in_wrong_states() {
  Side a(IBV_QPT_RC);
  must(a.receive(kReceiveId, 64) == EINVAL, "RESET takes no receive");
  expect(a.qpn(), kReceiveId, "ibv_post_recv on a QP in state RESET");
  must(a.to_init() == 0 && a.to_rtr(1) == 0, "RTR");
  must(a.send(64) == EINVAL, "RTR takes no send");
  expect(a.qpn(), kSendId, "ibv_post_send on a QP in state RTR");
}

void bad_requests() {
  Setup setup;
  setup.max_rd_atomic = 0;
  Scene s(IBV_QPT_RC, setup);
  const std::uint32_t qpn = s.a.qpn();
  ibv_send_wr wr = with_opcode(IBV_WR_SEND);
  wr.send_flags = IBV_SEND_INLINE;
  must(s.a.send(100, wr) == EINVAL, "inline");
  expect(qpn, kSendId, "100 inline bytes exceed max_inline_data 64");
  wr = with_opcode(IBV_WR_SEND);
  wr.num_sge = 5;
  must(s.a.send(8, wr) == EINVAL, "SGEs");
  expect(qpn, kSendId, "the work request has 5 SGEs but the queue allows 4");
  wr = write_to(8, s.b.mr->rkey);
  wr.opcode = IBV_WR_RDMA_READ;
  must(s.a.send(8, wr) == EINVAL, "READ");
  expect(qpn, kSendId, "IBV_WR_RDMA_READ needs max_rd_atomic > 0");
  wr = with_opcode(IBV_WR_SEND);
  wr.send_flags = IBV_SEND_IP_CSUM;
  must(s.a.send(8, wr) == EINVAL, "flags");
  expect(qpn, kSendId, "send flags IBV_SEND_SIGNALED|IBV_SEND_IP_CSUM are not allowed for IBV_WR_SEND");
  must(s.b.send(4, with_opcode(IBV_WR_ATOMIC_FETCH_AND_ADD)) == EINVAL, "atomic");
  expect(s.b.qpn(), kSendId, "an atomic operation with 4 bytes of SGEs");
  // not refused, but the end of the queue pair: windows change when the turn of the work request comes
  must(s.a.send(8, with_opcode(IBV_WR_LOCAL_INV)) == 0, "LOCAL_INV");
  expect(qpn, kSendId, "no memory window has key 0x0, or it is not bound");
}

void bad_datagrams() {
  Scene s(IBV_QPT_UD);
  must(s.a.send(8) == EINVAL, "no AH");
  expect(s.a.qpn(), kSendId, "a UD send without a valid address handle");
  must(s.a.send(8, write_to(8, 8)) == 0, "WRITE, which fails in its turn");
  expect(s.a.qpn(), kSendId, "IBV_WR_RDMA_WRITE is not allowed on a QP of type UD");
}

void datagram_too_long() {
  Side a(IBV_QPT_UD);
  must(a.to_init() == 0 && a.to_rtr(0) == 0 && a.to_rts() == 0, "RTS");
  ibv_port_attr port{};
  must(ibv_query_port(a.context, 1, &port) == 0, "port");
  const std::uint32_t mtu = 128U << port.active_mtu;
  ibv_ah_attr to = a.address();
  ibv_send_wr wr = with_opcode(IBV_WR_SEND);
  wr.wr.ud.ah = ibv_create_ah(a.pd, &to);
  wr.wr.ud.remote_qpn = a.qpn();
  must(a.send(mtu + 1, wr) == 0 && a.completion().status == IBV_WC_LOC_LEN_ERR, "local length error");
  expect(a.qpn(), kSendId,
         "the message of " + number(mtu + 1) + " bytes is longer than " + number(mtu) + " bytes");
  ibv_destroy_ah(wr.wr.ud.ah);
}

void cq_overrun() {
  Side a(IBV_QPT_UC, false, 1);
  // To nobody: with receives of its own it would be chance whether a send's or a receive's completion is
  // lost.
  must(a.to_init() == 0 && a.to_rtr(0xfffffe) == 0 && a.to_rts() == 0, "RTS");
  must(a.send(64) == 0 && a.send(64) == 0, "send");
  ibv_async_event event{};
  must(ibv_get_async_event(a.context, &event) == 0 && event.event_type == IBV_EVENT_CQ_ERR, "CQ error");
  ibv_ack_async_event(&event);
  expect(a.qpn(), kSendId, "the completion queue of 1 entries overflowed: completions are lost");
}

/// Until a thread of this process sleeps in the kernel.
void until_asleep(pid_t thread) {
  for (char state = 'R'; state != 'S'; std::this_thread::yield()) {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t end = text.rfind(')');  // of the name; the state is the next word
    if (end != std::string::npos && end + 2 < text.size()) state = text[end + 2];
  }
}

/// A completion lies in a's CQ, and a waits for an event that does not come.
void not_rearmed(bool armed_too_late) {
  Side a(IBV_QPT_UC, true);
  must(a.to_init() == 0 && a.to_rtr(0xfffffe) == 0 && a.to_rts() == 0, "RTS");
  // the first also finds out which way packets go, and so may take longer than its post
  must(a.send(64) == 0 && a.completion().status == IBV_WC_SUCCESS, "first send");
  if (armed_too_late) {
    must(a.send(64) == 0 && ibv_req_notify_cq(a.cq, 0) == 0, "send, then arm");
  } else {
    must(a.send(64) == 0, "send");
  }
  expect(0, "the program waits on the completion channel (fd " +
                number(static_cast<unsigned>(a.channel->fd)) +
                ") while 1 completions lie in a CQ that will not notify it");
  std::fflush(stdout);
  std::thread helper([&a, waiter = gettid()] {  // ends the wait below
    until_asleep(waiter);
    if (ibv_req_notify_cq(a.cq, 0) != 0 || a.send(64) != 0) give_up("last send");
  });
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  must(ibv_get_cq_event(a.channel, &cq, &context) == 0, "event");
  ibv_ack_cq_events(cq, 1);
  helper.join();
}

void events_not_acked() {
  Side a(IBV_QPT_UC, true);
  must(a.to_init() == 0 && a.to_rtr(0xfffffe) == 0 && a.to_rts() == 0, "RTS");
  must(ibv_req_notify_cq(a.cq, 0) == 0 && a.send(64) == 0, "send");
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  must(ibv_get_cq_event(a.channel, &cq, &context) == 0, "event");
  must(ibv_destroy_qp(a.qp) == 0, "destroy QP");
  a.qp = nullptr;
  std::thread destroyer([&a] { must(ibv_destroy_cq(a.cq) == 0, "destroy CQ"); });
  Side b(IBV_QPT_RC);
  for (int i = 0; i < 20; ++i) b.settle();  // longer than destroy is patient
  expect(0, "the destruction of this CQ waits: 1 events were fetched but not acked");
  ibv_ack_cq_events(cq, 1);
  destroyer.join();
  a.cq = nullptr;
}

void flushed_names_its_reason() {
  Scene s(IBV_QPT_RC);
  const ibv_send_wr bad = write_to(8, 0xbeef01);
  must(s.a.send(64, bad) == 0 && s.a.send(64) == 0, "send");
  const ibv_wc first = s.a.completion();
  const ibv_wc second = s.a.completion();
  must(first.status == IBV_WC_REM_ACCESS_ERR && first.vendor_err != 0, "first");
  must(second.status == IBV_WC_WR_FLUSH_ERR && second.vendor_err != 0, "second");
  must(second.vendor_err != first.vendor_err, "they differ");
  s.b.settle();
  expect(s.a.qpn(), kSendId, "the peer refused the request at PSN 100: rkey 0xbeef01 does not allow");
  expect(s.b.qpn(), "rkey 0xbeef01 is not registered here");
}

}  // namespace

extern const Case kQueueCases[] = {
    {"send_queue_full", send_queue_full},
    {"back_pressure", back_pressure},
    {"receive_queue_full", receive_queue_full},
    {"posts_in_wrong_states", posts_in_wrong_states},
    {"bad_requests", bad_requests},
    {"bad_datagrams", bad_datagrams},
    {"datagram_too_long", datagram_too_long},
    {"cq_overrun", cq_overrun},
    {"not_rearmed", [] { not_rearmed(false); }},
    {"armed_too_late", [] { not_rearmed(true); }},
    {"events_not_acked", events_not_acked},
    {"flushed_names_its_reason", flushed_names_its_reason},
    {nullptr, nullptr},
};

}  // namespace reasons
