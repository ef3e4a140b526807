// Parent domains: another face of a protection domain, whose queues lie in memory of the program, and thread
// domains.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

using TdPtr = Owner<ibv_td, ibv_dealloc_td>;

/// A program's allocator that keeps account.
struct Account {
  std::map<void*, std::uint64_t> pieces;  ///< with the kind of each
  std::map<std::uint64_t, unsigned> allocated;
  unsigned asked = 0;
  ibv_pd* last_domain = nullptr;
  bool leaves_it_to_us = false;
  bool has_none = false;

  static void* alloc(ibv_pd* pd, void* self, std::size_t size, std::size_t alignment, std::uint64_t kind) {
    auto& account = *static_cast<Account*>(self);
    account.last_domain = pd;
    ++account.allocated[kind];
    ++account.asked;
    if (account.has_none) return nullptr;
    if (account.leaves_it_to_us) return IBV_ALLOCATOR_USE_DEFAULT;
    void* const piece = std::aligned_alloc(alignment, size);
    account.pieces[piece] = kind;
    return piece;
  }
  static void free(ibv_pd*, void* self, void* piece, std::uint64_t kind) {
    auto& account = *static_cast<Account*>(self);
    EXPECT_EQ(account.pieces.at(piece), kind);
    account.pieces.erase(piece);
    std::free(piece);
  }
};

class ParentDomainTest : public VerbsTest {
 protected:
  ibv_parent_domain_init_attr attributes(Account* account = nullptr, ibv_td* td = nullptr) const {
    ibv_parent_domain_init_attr wanted{};
    wanted.pd = pd.get();
    wanted.td = td;
    if (account == nullptr) return wanted;
    wanted.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    wanted.alloc = Account::alloc;
    wanted.free = Account::free;
    wanted.pd_context = account;
    return wanted;
  }
  PdPtr make_parent(Account* account = nullptr, ibv_td* td = nullptr) const {
    ibv_parent_domain_init_attr wanted = attributes(account, td);
    return PdPtr(ibv_alloc_parent_domain(context.get(), &wanted));
  }
  QpPtr make_qp_of(ibv_pd* domain) const {
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    return QpPtr(ibv_create_qp(domain, &init));
  }
  /// A message from `from` with memory of `of`, to a queue pair of the plain domain.
  void send_with_memory_of(ibv_qp* from, ibv_pd* of) {
    const QpPtr to = make_qp(IBV_QPT_RC);
    connect(from, to.get());
    std::uint64_t sent = 0x1234, got = 0;
    const MrPtr source(ibv_reg_mr(of, &sent, sizeof sent, 0));
    const MrPtr sink = make_mr(&got, sizeof got, IBV_ACCESS_LOCAL_WRITE);
    ibv_sge sge = sge_of(&got, sizeof got, sink.get());
    ibv_recv_wr receive{};
    receive.sg_list = &sge;
    receive.num_sge = 1;
    ibv_recv_wr* bad_receive = nullptr;
    ASSERT_EQ(ibv_post_recv(to.get(), &receive, &bad_receive), 0);
    ibv_sge from_sge = sge_of(&sent, sizeof sent, source.get());
    ibv_send_wr send{};
    send.opcode = IBV_WR_SEND;
    send.sg_list = &from_sge;
    send.num_sge = 1;
    send.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(from, &send, &bad), 0);
    for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got, sent);
  }
};

TEST_F(ParentDomainTest, ItsKeysAreThoseOfItsDomain) {
  const PdPtr parent = make_parent();
  ASSERT_NE(parent, nullptr);
  send_with_memory_of(make_qp_of(parent.get()).get(), pd.get());
  send_with_memory_of(make_qp_of(pd.get()).get(), parent.get());
}

TEST_F(ParentDomainTest, QueuesLieInMemoryOfTheProgram) {
  Account account;
  {
    const PdPtr parent = make_parent(&account);
    ASSERT_NE(parent, nullptr);
    EXPECT_TRUE(account.pieces.empty());
    {
      const QpPtr qp = make_qp_of(parent.get());
      ASSERT_NE(qp, nullptr);
      EXPECT_EQ(account.last_domain, parent.get());
      EXPECT_EQ(account.pieces.size(), 2U) << "send and receive queue";
      send_with_memory_of(qp.get(), pd.get());
    }
    EXPECT_TRUE(account.pieces.empty());
    ibv_srq_init_attr init{};
    init.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
    const SrqPtr srq(ibv_create_srq(parent.get(), &init));
    ASSERT_NE(srq, nullptr);
    ibv_srq_attr more{.max_wr = 64, .max_sge = 0, .srq_limit = 0};
    EXPECT_EQ(ibv_modify_srq(srq.get(), &more, IBV_SRQ_MAX_WR), 0);
    EXPECT_EQ(account.pieces.size(), 1U) << "the old one is given back";
    ibv_cq_init_attr_ex wanted{};
    wanted.cqe = 8;
    wanted.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    wanted.parent_domain = parent.get();
    const CqPtr queue(ibv_cq_ex_to_cq(ibv_create_cq_ex(context.get(), &wanted)));
    ASSERT_NE(queue, nullptr);
    EXPECT_EQ(ibv_resize_cq(queue.get(), 100), 0);
    EXPECT_EQ(account.pieces.size(), 2U);
  }
  EXPECT_TRUE(account.pieces.empty());
  EXPECT_EQ(account.allocated.size(), 4U) << "each kind has a number of its own";
}

TEST_F(ParentDomainTest, IsNotAskedForMemoryOfASrqThatIsRefused) {
  Account account;
  const PdPtr parent = make_parent(&account);
  ibv_srq_init_attr init{};
  init.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  const SrqPtr srq(ibv_create_srq(parent.get(), &init));
  ASSERT_NE(srq, nullptr);
  const auto asked = account.asked;
  ibv_srq_attr beyond{.max_wr = 64, .max_sge = 0, .srq_limit = 65};
  EXPECT_EQ(ibv_modify_srq(srq.get(), &beyond, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(account.asked, asked);
}

TEST_F(ParentDomainTest, TheProgramMayLeaveItToUsOrHaveNone) {
  Account account;
  const PdPtr parent = make_parent(&account);
  account.leaves_it_to_us = true;
  send_with_memory_of(make_qp_of(parent.get()).get(), pd.get());
  account.has_none = true;
  errno = 0;
  EXPECT_EQ(make_qp_of(parent.get()), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(ParentDomainTest, IsBusyWhileItIsUsed) {
  TdPtr td;
  ibv_td_init_attr of_td{};
  td.reset(ibv_alloc_td(context.get(), &of_td));
  ASSERT_NE(td, nullptr);
  PdPtr parent = make_parent(nullptr, td.get());
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_td(td.get()), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  QpPtr qp = make_qp_of(parent.get());
  EXPECT_EQ(ibv_dealloc_pd(parent.get()), EBUSY);
  qp.reset();
  parent.reset();
  td.reset();
}

TEST_F(ParentDomainTest, BadAttributes) {
  Account account;
  ibv_parent_domain_init_attr wanted = attributes(&account);
  wanted.pd = nullptr;
  EXPECT_EQ(ibv_alloc_parent_domain(context.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wanted = attributes(&account);
  wanted.free = nullptr;
  EXPECT_EQ(ibv_alloc_parent_domain(context.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wanted = attributes(&account);
  wanted.comp_mask |= 1U << 20;
  EXPECT_EQ(ibv_alloc_parent_domain(context.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_td_init_attr of_td{};
  of_td.comp_mask = 1;
  EXPECT_EQ(ibv_alloc_td(context.get(), &of_td), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace softrnic::abi_test
