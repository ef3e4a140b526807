// Two sides that do not agree: states, numbers, sizes, addresses, keys of datagrams.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scene.h"

namespace reasons {
namespace {

constexpr const char* kSilent = "no answer to PSN 100 after 1 retries of ";

void peer_not_ready(bool initialised) {
  Side a(IBV_QPT_RC), b(IBV_QPT_RC);
  if (initialised) must(b.to_init() == 0, "INIT");
  must(a.to_init() == 0 && a.to_rtr(b.qpn()) == 0 && a.to_rts() == 0, "RTS");
  must(a.send(64) == 0, "send");
  must(a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  b.settle();
  expect(a.qpn(), kSendId, kSilent);
  expect(b.qpn(), std::string("a packet (RC Send Only, PSN 100) came for a QP in state ") +
                      (initialised ? "INIT" : "RESET") + ", which receives nothing");
}

void peer_failed_already() {
  Scene s(IBV_QPT_RC);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  must(ibv_modify_qp(s.b.qp, &error, IBV_QP_STATE) == 0, "ERR");
  must(s.a.send(64) == 0 && s.a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(s.a.qpn(), kSendId, kSilent);
  expect(s.b.qpn(), "came for a QP in state ERR, which receives nothing");
}

void wrong_qpn() {
  Side a(IBV_QPT_RC), b(IBV_QPT_RC);
  const std::uint32_t wrong = b.qpn() + 0x123;
  Setup setup;
  setup.dest_qpn = wrong;
  must(a.to_init() == 0 && a.to_rtr(0, setup) == 0 && a.to_rts() == 0, "RTS");
  must(a.send(64) == 0 && a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(a.qpn(), kSendId, kSilent);
  expect(0, "a packet (RC Send Only) from ");
  expect(0, " is for QP " + hex(wrong) + ", which does not exist here");
}

void wrong_psn(std::uint32_t sent, const char* word) {
  Setup a, b;
  a.sq_psn = sent;
  Scene s(IBV_QPT_RC, a, b);
  must(s.b.receive(kReceiveId, 64) == 0 && s.a.send(64) == 0, "send");
  must(s.a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(s.a.qpn(), kSendId, "no answer to PSN " + number(sent));
  expect(s.b.qpn(), "the first packet has PSN " + number(sent) + ", 5 " + word + " this QP's rq_psn 100");
}

void mtu_mismatch() {
  Setup b;
  b.mtu = IBV_MTU_256;
  Scene s(IBV_QPT_RC, {}, b);
  must(s.b.receive(kReceiveId, 1000) == 0 && s.a.send(1000) == 0, "send");
  must(s.a.completion().status == IBV_WC_REM_INV_REQ_ERR, "remote invalid request");
  expect(s.a.qpn(), kSendId, "the peer refused the request at PSN 100 (IBV_WR_SEND, 1000 bytes) as invalid");
  expect(s.b.qpn(),
         "a packet (RC Send Only) carries 1000 bytes, which does not fit this QP's path MTU of 256");
}

/// By the direct path a response is as long as it likes, but stands for packets of the responder's path MTU.
void mtu_mismatch_read(const std::string& response) {
  Setup b;
  b.mtu = IBV_MTU_256;
  Scene s(IBV_QPT_RC, {}, b);
  ibv_send_wr read = write_to(reinterpret_cast<std::uintptr_t>(s.b.memory.data()), s.b.mr->rkey);
  read.opcode = IBV_WR_RDMA_READ;
  must(s.a.send(1000, read) == 0 && s.a.completion().status == IBV_WC_BAD_RESP_ERR, "bad response");
  expect(s.a.qpn(), kSendId, "a response (RC RDMA Read Response " + response + ") does not fit the request");
}

void mtu_mismatch_uc() {
  Setup b;
  b.mtu = IBV_MTU_256;
  Scene s(IBV_QPT_UC, {}, b);
  must(s.b.receive(kReceiveId, 1000) == 0 && s.a.send(1000) == 0, "send");
  s.b.settle();
  expect(s.b.qpn(),
         "a packet (UC Send Only) carries 1000 bytes, which does not fit this QP's path MTU of 256");
}

void no_receive_rc() {
  Scene s(IBV_QPT_RC);
  must(s.a.send(64) == 0 && s.a.completion().status == IBV_WC_RNR_RETRY_EXC_ERR, "RNR retry exceeded");
  expect(s.a.qpn(), "the peer has no receive posted for PSN 100; trying again in ");
  expect(s.a.qpn(), kSendId, "the peer had no receive posted for PSN 100 at 2 attempts");
  expect(s.b.qpn(),
         "no receive is posted for the message at PSN 100 (RC Send Only); asked the peer to try again in");
}

void no_receive_uc() {
  Scene s(IBV_QPT_UC);
  must(s.a.send(64) == 0 && s.a.completion().status == IBV_WC_SUCCESS, "UC does not know");
  s.b.settle();
  expect(s.b.qpn(), "a UC message (UC Send Only, PSN 100) found no posted receive and is lost");
}

void receive_too_short(ibv_qp_type type) {
  Scene s(type);
  must(s.b.receive(kReceiveId, 100) == 0 && s.a.send(300) == 0, "send");
  const ibv_wc_status told = s.a.completion().status;
  must(told == (type == IBV_QPT_RC ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS), "sender's status");
  must(s.b.completion().status == IBV_WC_LOC_LEN_ERR, "local length error");
  expect(s.b.qpn(), kReceiveId,
         "a message of at least 300 bytes does not fit into the posted receive of 100 bytes");
  if (type == IBV_QPT_RC) expect(s.a.qpn(), kSendId, "the peer refused the request at PSN 100");
}

void wrong_source() {
  Setup b;
  b.peer_address = "127.0.0.99";
  Scene s(IBV_QPT_RC, {}, b);
  must(s.b.receive(kReceiveId, 64) == 0 && s.a.send(64) == 0, "send");
  must(s.a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(s.b.qpn(), ", which is not its peer's address (its peer is QP " + hex(s.a.qpn()));
}

void wrong_type() {
  Side a(IBV_QPT_RC), b(IBV_QPT_UC);
  must(a.to_init() == 0 && a.to_rtr(b.qpn()) == 0 && a.to_rts() == 0, "RTS");
  must(b.to_init() == 0 && b.to_rtr(a.qpn()) == 0, "RTR");
  must(a.send(64) == 0 && a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(b.qpn(), "a packet (RC Send Only) does not belong to this QP's type");
}

void no_route() {
  Setup a;
  a.peer_address = "198.51.100.1";  // RFC 5737: nobody has it, and this host has no route
  Side side(IBV_QPT_RC);
  must(side.to_init(a) == 0 && side.to_rtr(0x77, a) == 0 && side.to_rts(a) == 0, "RTS");
  must(side.send(64) == 0 && side.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(side.qpn(), kSendId, kSilent);
  expect(0, "the kernel refused to send a packet: Network is unreachable");
}

void not_our_protocol() {
  Scene s(IBV_QPT_RC);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(4791);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  char bytes[10] = {};
  bytes[0] = static_cast<char>(0xff);
  bytes[5] = static_cast<char>(s.a.qpn() >> 16);
  must(sendto(fd, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) == sizeof bytes,
       "UDP");
  close(fd);
  s.a.settle();
  expect(0, "a packet of 10 bytes is not a valid RoCEv2 packet (opcode 0xff)");
}

void injected() {
  Scene s(IBV_QPT_RC);
  must(s.b.receive(kReceiveId, 64) == 0 && s.a.send(64) == 0, "send");
  must(s.a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(0, "fault injection dropped a packet for QP " + hex(s.b.qpn()));
}

void damaged() {
  Scene s(IBV_QPT_RC);
  must(s.b.receive(kReceiveId, 1000) == 0 && s.a.send(1000) == 0, "send");
  must(s.a.completion().status == IBV_WC_RETRY_EXC_ERR, "retry exceeded");
  expect(s.b.qpn(), " has a wrong ICRC (");
}

void datagram(std::uint32_t bytes, std::uint32_t room, std::uint32_t qkey, const std::string& words) {
  Scene s(IBV_QPT_UD);
  ibv_ah_attr to = s.a.address();
  ibv_ah* ah = ibv_create_ah(s.a.pd, &to);
  must(ah != nullptr, "address handle");
  ibv_send_wr wr = with_opcode(IBV_WR_SEND);
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qpn = s.b.qpn();
  wr.wr.ud.remote_qkey = qkey;
  if (room != 0) must(s.b.receive(kReceiveId, room) == 0, "receive");
  must(s.a.send(bytes, wr) == 0 && s.a.completion().status == IBV_WC_SUCCESS, "UD does not know");
  s.b.settle();
  ibv_destroy_ah(ah);
  const std::string text =
      words == "from" ? " bytes from QP " + hex(s.a.qpn()) + " found no posted receive" : words;
  if (bytes + 40 > room && room != 0) return expect(s.b.qpn(), kReceiveId, text);
  expect(s.b.qpn(), text);
}

}  // namespace

extern const Case kConnectionCases[] = {
    {"peer_in_init", [] { peer_not_ready(true); }},
    {"peer_in_reset", [] { peer_not_ready(false); }},
    {"peer_failed_already", peer_failed_already},
    {"wrong_qpn", wrong_qpn},
    {"wrong_psn_ahead", [] { wrong_psn(105, "after"); }},
    {"wrong_psn_behind", [] { wrong_psn(95, "before"); }},
    {"mtu_mismatch", mtu_mismatch},
    {"mtu_mismatch_read_direct", [] { mtu_mismatch_read("Only, PSN 100, 1000 bytes"); }},
    {"mtu_mismatch_read_wire", [] { mtu_mismatch_read("First, PSN 100, 256 bytes"); }, "SOFTRNIC_PATH=wire"},
    {"mtu_mismatch_uc", mtu_mismatch_uc},
    {"no_receive_rc", no_receive_rc},
    {"no_receive_uc", no_receive_uc},
    {"no_receive_ud", [] { datagram(64, 0, kQkey, "from"); }},
    {"receive_too_short_rc", [] { receive_too_short(IBV_QPT_RC); }},
    {"receive_too_short_uc", [] { receive_too_short(IBV_QPT_UC); }},
    {"receive_too_short_ud",
     [] {
       datagram(100, 100, kQkey,
                "a datagram of 140 bytes (40 of them GRH) did not fit into the posted receive of 100");
     }},
    {"wrong_qkey", [] { datagram(64, 200, 0x99, "Q_Key 0x99 of a datagram from QP "); }},
    {"wrong_source", wrong_source},
    {"wrong_type", wrong_type},
    {"no_route", no_route},
    {"not_our_protocol", not_our_protocol},
    {"injected", injected, "SOFTRNIC_FAULTS=drop=100%,seed=1"},
    {"damaged", damaged, "SOFTRNIC_FAULTS=corrupt=100%,seed=1"},
    {nullptr, nullptr},
};

}  // namespace reasons
