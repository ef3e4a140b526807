// The public headers that this library is built against lay structures out as programs of Debian 12 know
// them. Those of newer releases have more at the ends of some, and those of rdma-core 39 one field less.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <string_view>

namespace {

constexpr std::size_t kNoSuchField = ~std::size_t{0};

struct Row {
  const char* name;
  std::size_t offset, wanted_offset;
  std::size_t size, wanted_size;
};

// offsetof on a class that C++ does not call standard-layout is conditionally supported;
// g++ and clang support it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define STRUCTURE(type, bytes) Row{#type, 0, 0, sizeof(struct type), bytes},
#define FIELD(type, field, at, bytes)                                                                       \
  []<typename T>(const T*) {                                                                                \
    if constexpr (requires(T t) { t.field; }) {                                                             \
      return Row{#type "." #field, offsetof(T, field), at, sizeof(static_cast<T*>(nullptr)->field), bytes}; \
    } else {                                                                                                \
      return Row{#type "." #field, kNoSuchField, at, 0, bytes};                                             \
    }                                                                                                       \
  }(static_cast<const struct type*>(nullptr)),
constexpr Row kRows[] = {
#include "layout_ibverbs.inc"
#include "layout_rdmacm.inc"
};
#undef STRUCTURE
#undef FIELD

TEST(Layout, IsThatOfDebian12) {
  for (const Row& row : kRows) {
    if (row.offset == kNoSuchField) {
      EXPECT_STREQ(row.name, "ibv_qp_ex.wr_atomic_write");
      continue;
    }
    EXPECT_EQ(row.offset, row.wanted_offset) << row.name;
    if (std::string_view(row.name).find('.') == std::string_view::npos) {
      EXPECT_GE(row.size, row.wanted_size) << row.name;
    } else {
      EXPECT_EQ(row.size, row.wanted_size) << row.name;
    }
  }
  EXPECT_GT(std::size(kRows), 400U);
}

}  // namespace
