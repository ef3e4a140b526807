// What tests of librdmacm need again and again: owners for its objects, and connections over the loopback.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace softrnic::abi_test {

struct DestroyChannel {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
/// With the queues that the library has made for it.
struct DestroyId {
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    EXPECT_EQ(rdma_destroy_id(id), 0);
  }
};
struct AckEvent {
  void operator()(rdma_cm_event* event) const { EXPECT_EQ(rdma_ack_cm_event(event), 0); }
};
struct FreeAddressInfo {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};
using CmChannelPtr = std::unique_ptr<rdma_event_channel, DestroyChannel>;
using CmIdPtr = std::unique_ptr<rdma_cm_id, DestroyId>;
using CmEventPtr = std::unique_ptr<rdma_cm_event, AckEvent>;
using CmAddressInfoPtr = std::unique_ptr<rdma_addrinfo, FreeAddressInfo>;

constexpr int kPatienceMs = 20000;
constexpr std::size_t kGrhBytes = sizeof(ibv_grh);  ///< before each datagram received

/// -1 and this errno.
#define EXPECT_REFUSED(call, error) \
  do {                              \
    errno = 0;                      \
    EXPECT_EQ(call, -1);            \
    EXPECT_EQ(errno, error);        \
  } while (false)

/// "127.0.0.1" or "::1"; `port` in network order.
inline sockaddr_storage address_of(const std::string& text, std::uint16_t port = 0) {
  sockaddr_storage out{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(out);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = port;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
  }
  return out;
}
inline sockaddr* generic(sockaddr_storage& address) { return reinterpret_cast<sockaddr*>(&address); }

inline bool readable(int fd, int milliseconds) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, milliseconds) == 1;
}

/// The next event, which has to be of this type and status.
inline CmEventPtr expect_event(rdma_event_channel* channel, rdma_cm_event_type type, int status = 0) {
  rdma_cm_event* event = nullptr;
  EXPECT_TRUE(readable(channel->fd, kPatienceMs)) << "no event; wanted " << rdma_event_str(type);
  if (!readable(channel->fd, 0) || rdma_get_cm_event(channel, &event) != 0) return nullptr;
  EXPECT_STREQ(rdma_event_str(event->event), rdma_event_str(type)) << "status " << event->status;
  EXPECT_EQ(event->status, status);
  return CmEventPtr(event);
}

class CmTest : public testing::Test {
 protected:
  void SetUp() override {
    client_channel.reset(rdma_create_event_channel());
    server_channel.reset(rdma_create_event_channel());
    ASSERT_NE(client_channel, nullptr) << std::strerror(errno);
    ASSERT_NE(server_channel, nullptr);
  }

  static CmIdPtr make_id(rdma_event_channel* channel, rdma_port_space ps = RDMA_PS_TCP,
                         void* context = nullptr) {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_create_id(channel, &id, context, ps), 0) << std::strerror(errno);
    return CmIdPtr(id);
  }

  static ibv_qp_init_attr qp_init(ibv_qp_type type) {
    ibv_qp_init_attr init{};
    init.cap = {
        .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
    init.qp_type = type;
    init.sq_sig_all = 1;
    return init;
  }
  static void make_qp(rdma_cm_id* id) {
    ibv_qp_init_attr init = qp_init(id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);
    ASSERT_EQ(rdma_create_qp(id, nullptr, &init), 0) << std::strerror(errno);
  }

  /// `listener` waits at a free port of `text` from now on.
  void listen(const std::string& text, rdma_port_space ps = RDMA_PS_TCP) {
    listener = make_id(server_channel.get(), ps, &listener_context);
    sockaddr_storage address = address_of(text);
    ASSERT_EQ(rdma_bind_addr(listener.get(), generic(address)), 0) << std::strerror(errno);
    ASSERT_NE(rdma_get_src_port(listener.get()), 0) << "at once, before listen";
    ASSERT_EQ(rdma_listen(listener.get(), 8), 0) << std::strerror(errno);
  }

  /// `client` has a route to the listener by way of `text`.
  void resolve(const std::string& text, rdma_port_space ps = RDMA_PS_TCP) {
    client = make_id(client_channel.get(), ps);
    sockaddr_storage address = address_of(text, rdma_get_src_port(listener.get()));
    ASSERT_EQ(rdma_resolve_addr(client.get(), nullptr, generic(address), 2000), 0) << std::strerror(errno);
    ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
    ASSERT_NE(client->verbs, nullptr);
    ASSERT_EQ(rdma_resolve_route(client.get(), 2000), 0) << std::strerror(errno);
    ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ROUTE_RESOLVED), nullptr);
    make_qp(client.get());
  }

  /// The id of the request that comes next, with a QP.
  CmEventPtr take_request() {
    CmEventPtr event = expect_event(server_channel.get(), RDMA_CM_EVENT_CONNECT_REQUEST);
    if (event == nullptr) return event;
    server.reset(event->id);
    make_qp(server.get());
    return event;
  }

  void connect(const std::string& where = "127.0.0.1", const std::string& by_way_of = "",
               rdma_conn_param parameters = {}) {
    listen(where);
    resolve(by_way_of.empty() ? where : by_way_of);
    ASSERT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
    ASSERT_NE(take_request(), nullptr);
    ASSERT_EQ(rdma_accept(server.get(), &parameters), 0) << std::strerror(errno);
    ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ESTABLISHED), nullptr);
    ASSERT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_ESTABLISHED), nullptr);
  }

  /// One message, from `from` to `to`; both complete.
  static void send(rdma_cm_id* from, rdma_cm_id* to, char value) {
    char out[32], in[32]{};
    std::memset(out, value, sizeof out);
    ibv_mr* const mr = rdma_reg_msgs(to, in, sizeof in);
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(rdma_post_recv(to, nullptr, in, sizeof in, mr), 0);
    ASSERT_EQ(rdma_post_send(from, nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
    ibv_wc wc{};
    ASSERT_EQ(rdma_get_recv_comp(to, &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    ASSERT_EQ(rdma_get_send_comp(from, &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
    EXPECT_EQ(rdma_dereg_mr(mr), 0);
  }

  // Members go in the reverse order.
  int listener_context = 0;
  CmChannelPtr client_channel, server_channel;
  CmIdPtr listener, server, client;
};

}  // namespace softrnic::abi_test
