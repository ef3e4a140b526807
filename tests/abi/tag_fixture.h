// A tag matching SRQ with its completion queue, a queue pair that feeds it, and that one's peer.
#pragma once

#include <infiniband/tm_types.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {

constexpr unsigned kMatched = IBV_WC_TM_MATCH;
constexpr unsigned kThere = IBV_WC_TM_DATA_VALID;
constexpr std::uint64_t kAll = UINT64_MAX;

class TagTest : public VerbsTest {
 protected:
  /// What an extended completion queue tells.
  struct Told {
    std::uint64_t wr_id = 0;
    ibv_wc_status status = IBV_WC_GENERAL_ERR;
    ibv_wc_opcode opcode{};
    unsigned flags = 0;
    std::uint32_t bytes = 0;
    std::uint32_t qpn = 0;
    std::uint64_t tag = 0;
    std::uint32_t priv = 0;
  };

  void SetUp() override {
    VerbsTest::SetUp();
    ibv_cq_init_attr_ex wanted{};
    wanted.cqe = 4096;
    wanted.channel = nullptr;
    wanted.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
    tells = ibv_create_cq_ex(context.get(), &wanted);
    ASSERT_NE(tells, nullptr) << std::strerror(errno);
    tells_owner.reset(ibv_cq_ex_to_cq(tells));
    srq = make_tag_srq({.max_num_tags = 64, .max_ops = 16});
    ASSERT_NE(srq, nullptr) << std::strerror(errno);
    here_mr = make_mr(here.data(), here.size(), IBV_ACCESS_LOCAL_WRITE);
    there_mr = make_mr(there.data(), there.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<char>('a' + i % 23);
  }

  SrqPtr make_tag_srq(ibv_tm_cap cap, std::uint32_t without = 0, ibv_cq* to = nullptr) {
    ibv_srq_init_attr_ex init{};
    init.attr = {.max_wr = 64, .max_sge = 1, .srq_limit = 0};
    init.comp_mask =
        (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM) &
        ~without;
    init.srq_type = IBV_SRQT_TM;
    init.pd = pd.get();
    init.cq = to != nullptr ? to : tells_owner.get();
    init.tm_cap = cap;
    errno = 0;
    return SrqPtr(ibv_create_srq_ex(context.get(), &init));
  }
  QpPtr make_server(ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr init = qp_init(type);
    init.srq = srq.get();
    init.cap.max_send_wr = 0;  // the SRQ sends by itself
    errno = 0;
    return QpPtr(ibv_create_qp(pd.get(), &init));
  }
  void connect_both() {
    server = make_server();
    ASSERT_NE(server, nullptr) << std::strerror(errno);
    client = make_qp(IBV_QPT_RC);
    connect(server.get(), client.get());
  }

  // ---- operations

  static ibv_ops_wr operation(ibv_ops_wr_opcode opcode, std::uint64_t id, int flags = IBV_OPS_SIGNALED) {
    ibv_ops_wr wr{};
    wr.wr_id = id;
    wr.opcode = opcode;
    wr.flags = flags;
    return wr;
  }
  int post(ibv_ops_wr& wr) {
    ibv_ops_wr* bad = nullptr;
    return ibv_post_srq_ops(srq.get(), &wr, &bad);
  }
  /// A buffer at `offset` of here, without a completion of its own; its handle.
  std::uint32_t add(std::uint64_t id, std::uint64_t tag, std::size_t offset, std::uint32_t length,
                    std::uint64_t mask = kAll) {
    ibv_sge sge = sge_of(here.data() + offset, length, here_mr.get());
    ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 0, 0);
    wr.tm.add = {.recv_wr_id = id, .sg_list = &sge, .num_sge = 1, .tag = tag, .mask = mask};
    EXPECT_EQ(post(wr), 0);
    return wr.tm.handle;
  }
  Told synchronize(std::uint32_t count) {
    ibv_ops_wr wr = operation(IBV_WR_TAG_SYNC, 900);
    wr.tm.unexpected_cnt = count;
    EXPECT_EQ(post(wr), 0);
    return next();
  }
  void receive(std::uint64_t id, std::size_t offset, std::uint32_t length) {
    ibv_sge sge = sge_of(here.data() + offset, length, here_mr.get());
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_srq_recv(srq.get(), &wr, &bad), 0);
  }

  // ---- messages of the client

  /// Writes a TMH to `there`, where the payload stands behind it.
  void write_tmh(std::uint8_t opcode, std::uint64_t tag, std::uint32_t app_ctx = 0xabcd) {
    const ibv_tmh tmh{opcode, {}, __builtin_bswap32(app_ctx), __builtin_bswap64(tag)};
    std::memcpy(there.data(), &tmh, sizeof tmh);
  }
  void send(std::uint32_t length, unsigned flags = 0) {
    ASSERT_EQ(
        post_send(client.get(), 1, sge_of(there.data(), length, there_mr.get()), IBV_SEND_SIGNALED | flags),
        0);
  }
  void send_eager(std::uint64_t tag, std::uint32_t payload) {
    write_tmh(IBV_TMH_EAGER, tag);
    send(16 + payload);
  }
  /// Asks for a rendezvous of `length` bytes at kPayload of there.
  void send_rendezvous(std::uint64_t tag, std::uint32_t length, std::uint32_t rkey = 0) {
    write_tmh(IBV_TMH_RNDV, tag);
    const auto address = reinterpret_cast<std::uintptr_t>(there.data() + kPayload);
    const ibv_rvh rvh{__builtin_bswap64(address), __builtin_bswap32(rkey != 0 ? rkey : there_mr->rkey),
                      __builtin_bswap32(length)};
    std::memcpy(there.data() + sizeof(ibv_tmh), &rvh, sizeof rvh);
    send(32, IBV_SEND_INLINE);
  }
  bool arrived(std::size_t offset, std::size_t from, std::size_t length) const {
    return std::memcmp(here.data() + offset, there.data() + from, length) == 0;
  }
  ibv_wc_status sent() { return collect(cq.get(), 1)[0].status; }

  // ---- completions

  bool poll(Told& out) {
    ibv_poll_cq_attr attributes{};
    if (ibv_start_poll(tells, &attributes) != 0) return false;
    ibv_wc_tm_info info{};
    ibv_wc_read_tm_info(tells, &info);
    out = {tells->wr_id,
           tells->status,
           ibv_wc_read_opcode(tells),
           ibv_wc_read_wc_flags(tells),
           ibv_wc_read_byte_len(tells),
           ibv_wc_read_qp_num(tells),
           info.tag,
           info.priv};
    ibv_end_poll(tells);
    return true;
  }
  Told next() {
    Told out;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!poll(out)) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no completion in time";
        break;
      }
    }
    return out;
  }
  void expect_none() {
    Told out;
    for (int i = 0; i < 1000; ++i)
      ASSERT_FALSE(poll(out)) << "wr_id " << out.wr_id << ", opcode " << out.opcode;
  }
  static void expect(const Told& told, std::uint64_t id, ibv_wc_opcode opcode, unsigned flags,
                     ibv_wc_status status = IBV_WC_SUCCESS) {
    EXPECT_EQ(told.wr_id, id);
    EXPECT_EQ(ibv_wc_status_str(told.status), std::string(ibv_wc_status_str(status)));
    EXPECT_EQ(int{told.opcode}, int{opcode});
    EXPECT_EQ(told.flags, flags);
  }

  static constexpr std::size_t kPayload = 4096;  ///< of there, for rendezvous

  // Members go in the reverse order.
  ibv_cq_ex* tells = nullptr;
  CqPtr tells_owner;
  SrqPtr srq;
  std::vector<char> here = std::vector<char>(1U << 20), there = std::vector<char>(1U << 20);
  MrPtr here_mr, there_mr;
  QpPtr server, client;
};

}  // namespace softrnic::abi_test
