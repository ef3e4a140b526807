// A process may write anything into its own page; whoever reads it goes on.
#include "control/page_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

#include "control/shared_memory.h"

namespace softrnic::control {
namespace {

/// A page and the process's own view of it.
struct Owned {
  UniqueFd fd = make_shared_memory("page", kPageBytes);
  Page* page = static_cast<Page*>(map_shared_memory(fd.get(), kPageBytes));
  ~Owned() { munmap(page, kPageBytes); }

  void make_header() {
    page->header.magic = kPageMagic;
    page->header.version = kPageVersion;
  }
};

/// Reads and prints all there is.
std::size_t read_all(const PageReader& reader) {
  std::size_t length = reader.process().comm.size() + reader.lanes().size();
  for (const Explanation& e : reader.explanations()) length += describe(e.reason).size();
  for (const QpView& qp : reader.qps())
    for (const auto& entry : qp.reasons) length += describe(entry.latest.reason).size();
  return length;
}

TEST(PageReader, GarbageIsReadWithoutHarm) {
  std::mt19937_64 random(1);
  for (const std::uint64_t mask : {~0ULL, 0x0101'0101'0101'0101ULL, 0xff00'0000'00ffULL}) {
    Owned own;
    ASSERT_NE(own.page, nullptr);
    auto* words = reinterpret_cast<std::uint64_t*>(own.page);
    for (std::size_t i = 0; i < kPageBytes / sizeof *words; ++i) words[i] = random() & mask;
    EXPECT_FALSE(PageReader::open(own.fd.get()));
    own.make_header();
    const auto reader = PageReader::open(own.fd.get());
    ASSERT_TRUE(reader);
    EXPECT_GT(read_all(*reader), 0U);
  }
}

TEST(PageReader, ReasonsThatTheTableHasNotAreLeftOut) {
  Owned own;
  ASSERT_NE(own.page, nullptr);
  own.make_header();
  PageQp& row = own.page->qps[3];
  row.sequence = 2;
  row.body.qpn = 0x10003;
  row.body.explained = 1;
  PageQpReasons& reasons = own.page->reasons[3];
  for (std::uint32_t i = 0; i < kPageReasons; ++i) {
    reasons.body.entries[i].times = 1;
    reasons.body.entries[i].latest.time_ns = 100 - i;
    reasons.body.entries[i].latest.reason = i < 2 ? i + 1 : 0xffff'fff0 + i;
  }
  const auto reader = PageReader::open(own.fd.get());
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->qps().size(), 1U);
  const QpView qp = reader->qps()[0];
  ASSERT_EQ(qp.reasons.size(), 2U);
  EXPECT_LT(qp.reasons[0].latest.time_ns, qp.reasons[1].latest.time_ns);
  row.body.explained = 0;  // of an earlier QP of this row
  EXPECT_TRUE(reader->qps()[0].reasons.empty());
}

TEST(PageReader, OnlyMemoryThatIsAlwaysThereIsMapped) {
  const UniqueFd small = make_shared_memory("page", 4096);
  EXPECT_EQ(PageReader::open(small.get()).error(), EMSGSIZE);
  const UniqueFd loose(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), kPageBytes), 0);
  EXPECT_EQ(PageReader::open(loose.get()).error(), EPERM);
  // sealed, but its holes need huge pages that the host may not have: SIGBUS at the first look
  const UniqueFd huge(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!huge || ftruncate(huge.get(), 32 << 20) != 0) GTEST_SKIP() << "no huge pages in this kernel";
  ASSERT_EQ(fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(PageReader::open(huge.get()).error(), EPERM);
}

}  // namespace
}  // namespace softrnic::control
