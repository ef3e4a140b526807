// What we say of the structures of rdma-core 65 agrees with its header, and programs built with that find the
// operations of a context, old and new.
#include <cstddef>
#include <cstring>

#include "tests/abi/newer_verbs.h"

namespace softrnic::abi_test {
namespace {

/// Its beginning and end.
struct NewestVerbsContext {
  void *free_buf, *alloc_buf, *dm_export_dmabuf_fd, *reg_mr_ex, *dealloc_dmah, *alloc_dmah;
  decltype(verbs_context::query_port) query_port;
  std::byte others[304];
  std::size_t sz;
  ibv_context context;
};

struct Row {
  const char* name;
  std::size_t got, wanted;
};

#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define STRUCTURE(type, bytes) Row{#type, sizeof(names::type), bytes},
#define FIELD(type, field, at, bytes)                                   \
  Row{"offset of " #type "." #field, offsetof(names::type, field), at}, \
      Row{"size of " #type "." #field, sizeof(names::type::field), bytes},
namespace names {
using ibv_mr_init_attr = abi::MrInitAttr;
using ibv_comp_cntr = abi::CompCntr;
using ibv_comp_cntr_init_attr = abi::CompCntrInitAttr;
using ibv_comp_cntr_caps = abi::CompCntrCaps;
using ibv_qp_attach_comp_cntr_attr = abi::QpAttachCompCntrAttr;
using ibv_port_attr = abi::PortAttr;
using verbs_context = NewestVerbsContext;
}  // namespace names
constexpr Row kRows[] = {
#include "layout_newer-ibverbs.inc"
};
#undef STRUCTURE
#undef FIELD

TEST(NewerLayout, IsThatOfRdmaCore65) {
  for (const Row& row : kRows) EXPECT_EQ(row.got, row.wanted) << row.name;
  EXPECT_GT(std::size(kRows), 50U);
  EXPECT_EQ(sizeof(NewestVerbsContext), abi::kVerbsContextBytes);
  EXPECT_EQ(offsetof(NewestVerbsContext, context), abi::kBytesBeforeContext);
}

/// What verbs_get_ctx and verbs_get_ctx_op of that header do: the operation at `offset` of a struct
/// verbs_context of `size` bytes, if the library says that it is there. nullptr: it does not.
void* find_operation(ibv_context* context, std::size_t size, std::size_t offset) {
  if (reinterpret_cast<std::uintptr_t>(context->abi_compat) != UINTPTR_MAX) return nullptr;
  std::size_t there = 0;
  std::memcpy(&there, reinterpret_cast<const char*>(context) - sizeof there, sizeof there);
  if (there < size - offset) return nullptr;
  void* operation = nullptr;
  std::memcpy(&operation, reinterpret_cast<const char*>(context) + sizeof *context - size + offset,
              sizeof operation);
  return operation;
}

#define FIND(field) \
  find_operation(context.get(), sizeof(NewestVerbsContext), offsetof(NewestVerbsContext, field))

using NewerContextTest = VerbsTest;

TEST_F(NewerContextTest, ProgramsOfTodayFindTheirOperations) {
  EXPECT_EQ(FIND(query_port), reinterpret_cast<void*>(verbs_get_ctx(context.get())->query_port));
  for (void* const found : {FIND(free_buf), FIND(alloc_buf), FIND(dm_export_dmabuf_fd), FIND(reg_mr_ex),
                            FIND(dealloc_dmah), FIND(alloc_dmah)})
    EXPECT_NE(found, nullptr);
  alignas(64) char bytes[64] = {};
  abi::MrInitAttr wanted{};
  wanted.comp_mask = abi::kMrAddr;
  wanted.addr = bytes;
  wanted.length = sizeof bytes;
  using Register = ibv_mr* (*)(ibv_pd*, abi::MrInitAttr*);
  const MrPtr mr(reinterpret_cast<Register>(FIND(reg_mr_ex))(pd.get(), &wanted));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, bytes);
  using Free = void (*)(abi::Buf*);
  using Alloc = void* (*)(ibv_pd*, std::size_t, abi::Buf**);
  abi::Buf* buffer = nullptr;
  EXPECT_NE(reinterpret_cast<Alloc>(FIND(alloc_buf))(pd.get(), 64, &buffer), nullptr);
  reinterpret_cast<Free>(FIND(free_buf))(buffer);
  using Export = int (*)(ibv_dm*);
  EXPECT_EQ(reinterpret_cast<Export>(FIND(dm_export_dmabuf_fd))(nullptr), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(NewerContextTest, ProgramsOfTomorrowFindThatTheirsAreNotThere) {
  constexpr std::size_t kTomorrow = sizeof(NewestVerbsContext) + sizeof(void*);
  EXPECT_EQ(find_operation(context.get(), kTomorrow, 0), nullptr) << "may not even be looked at";
  EXPECT_NE(find_operation(context.get(), kTomorrow, sizeof(void*)), nullptr) << "what was the first before";
}

// Debian 12's program asks for as much as its header has, and gets what it did before there was anything new.
TEST_F(NewerContextTest, ProgramsOfYesterdayFindTheirsWhereTheyWere) {
  constexpr std::size_t kYesterday = 648;
  EXPECT_EQ(find_operation(context.get(), kYesterday, 0), FIND(query_port));
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context.get(), 1, &port), 0);
}

}  // namespace
}  // namespace softrnic::abi_test
