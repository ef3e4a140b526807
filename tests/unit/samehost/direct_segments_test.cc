// Which parts of its memory a process publishes for mapping, and what its local peers keep of them.
#include "samehost/direct_segments.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "samehost/segment_cache.h"

namespace softrnic::samehost {
namespace {

constexpr std::size_t kArenaBytes = 64 * 1024;

/// A sealed memfd, mapped.
class Arena {
 public:
  Arena() : fd_(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(ftruncate(fd_.get(), kArenaBytes), 0);
    EXPECT_EQ(fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    place_ = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    EXPECT_NE(place_, MAP_FAILED);
  }
  ~Arena() { munmap(place_, kArenaBytes); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(place_); }

 private:
  UniqueFd fd_;
  void* place_;
};

class DirectSegmentsTest : public testing::Test {
 protected:
  std::vector<DirectSegment> table_{kDirectSegments};
  std::unique_ptr<DirectSegments> segments_ = DirectSegments::make(table_.data(), ShareFiles::fixed);

  MappedRange map(SegmentRef segment) const {
    return MappedRange::map(getpid(), table_[segment.index].body.range, ShareFiles::fixed);
  }
};

TEST_F(DirectSegmentsTest, RegionsOfOneMappingHaveOneSegment) {
  const Arena arena;
  const SegmentRef first = segments_->acquire(arena.address(), 100);
  const SegmentRef second = segments_->acquire(arena.address() + 8192, 4096);
  EXPECT_NE(first.id, 0U);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(table_[first.index].body.id, first.id);
  segments_->release(first);
  EXPECT_EQ(table_[first.index].body.id, first.id);
  const int fd = table_[first.index].body.range.handle;
  EXPECT_GE(fcntl(fd, F_GETFD), 0);
  segments_->release(second);
  EXPECT_EQ(table_[first.index].body.id, 0U);
  EXPECT_LT(fcntl(fd, F_GETFD), 0);
}

TEST_F(DirectSegmentsTest, WhatComesBackHasTheIdThatItHad) {
  const Arena arena;
  const Arena other;
  const SegmentRef first = segments_->acquire(arena.address(), kArenaBytes);
  segments_->release(first);
  const SegmentRef between = segments_->acquire(other.address(), kArenaBytes);
  const SegmentRef again = segments_->acquire(arena.address(), kArenaBytes);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.index, first.index);
  EXPECT_NE(between.id, first.id);
}

TEST_F(DirectSegmentsTest, PrivateMemoryHasNone) {
  std::vector<std::uint8_t> memory(kArenaBytes);
  EXPECT_EQ(segments_->acquire(reinterpret_cast<std::uint64_t>(memory.data()), kArenaBytes).id, 0U);
  segments_->release({});
}

TEST_F(DirectSegmentsTest, ThereAreOnlySoMany) {
  rlimit files{};  // each takes two
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  std::vector<std::unique_ptr<Arena>> arenas;
  for (std::size_t i = 0; i < kDirectSegments; ++i) {
    arenas.push_back(std::make_unique<Arena>());
    ASSERT_NE(segments_->acquire(arenas.back()->address(), kArenaBytes).id, 0U) << i;
  }
  const Arena more;
  EXPECT_EQ(segments_->acquire(more.address(), kArenaBytes).id, 0U);
}

TEST_F(DirectSegmentsTest, LocalPeersLetGoOfWhatWasWithdrawn) {
  const Arena arena;
  const SegmentRef segment = segments_->acquire(arena.address(), kArenaBytes);
  SegmentCache cache;
  SegmentCache::Mappings old;
  EXPECT_TRUE(cache.lacks(segment));
  EXPECT_FALSE(cache.find(segment, arena.address(), 8));
  cache.install(segment, map(segment), old);
  EXPECT_FALSE(cache.lacks(segment));
  ASSERT_TRUE(cache.find(segment, arena.address() + 8, 8));
  EXPECT_FALSE(cache.find(segment, arena.address() + kArenaBytes - 8, 16));
  EXPECT_FALSE(cache.find({segment.id + 1, segment.index}, arena.address(), 8));
  cache.sweep(table_.data(), true, old);
  EXPECT_TRUE(cache.find(segment, arena.address(), 8));
  EXPECT_TRUE(old.empty());
  segments_->release(segment);
  cache.sweep(table_.data(), true, old);
  EXPECT_FALSE(cache.find(segment, arena.address(), 8));
  EXPECT_EQ(old.size(), 1U);
  EXPECT_TRUE(cache.empty());
}

TEST_F(DirectSegmentsTest, WhatCouldNotBeMappedIsTriedAgainLater) {
  const Arena arena;
  const SegmentRef segment = segments_->acquire(arena.address(), kArenaBytes);
  SegmentCache cache;
  SegmentCache::Mappings old;
  cache.install(segment, MappedRange(), old);
  EXPECT_FALSE(cache.lacks(segment));
  EXPECT_FALSE(cache.idle());
  cache.sweep(table_.data(), true, old);
  EXPECT_TRUE(cache.lacks(segment));
  EXPECT_TRUE(cache.idle());
  cache.install(segment, map(segment), old);
  EXPECT_TRUE(cache.find(segment, arena.address(), 8));
}

TEST_F(DirectSegmentsTest, LocalPeersLetGoOfTheDead) {
  const Arena arena;
  const SegmentRef segment = segments_->acquire(arena.address(), kArenaBytes);
  SegmentCache cache;
  SegmentCache::Mappings old;
  cache.install(segment, map(segment), old);
  cache.sweep(table_.data(), false, old);
  EXPECT_TRUE(cache.empty());
  EXPECT_EQ(old.size(), 1U);
}

TEST_F(DirectSegmentsTest, WhatWasNotUsedForLongestMakesRoom) {
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<SegmentRef> segments;
  SegmentCache cache;
  SegmentCache::Mappings old;
  for (std::size_t i = 0; i <= SegmentCache::kMost; ++i) {
    arenas.push_back(std::make_unique<Arena>());
    segments.push_back(segments_->acquire(arenas.back()->address(), kArenaBytes));
  }
  for (std::size_t i = 0; i < SegmentCache::kMost; ++i) cache.install(segments[i], map(segments[i]), old);
  const auto has = [&](std::size_t i) {
    return cache.find(segments[i], arenas[i]->address(), 1).has_value();
  };
  // all in use: none may drive another out
  cache.install(segments.back(), map(segments.back()), old);
  EXPECT_FALSE(has(SegmentCache::kMost));
  EXPECT_FALSE(cache.lacks(segments.back()));
  EXPECT_EQ(old.size(), 1U);
  cache.sweep(table_.data(), true, old);
  EXPECT_TRUE(cache.lacks(segments.back()));
  for (std::size_t i = 0; i < SegmentCache::kMost; ++i) {
    EXPECT_TRUE(i == 7 || has(i)) << i;
  }
  cache.install(segments.back(), map(segments.back()), old);
  EXPECT_TRUE(has(SegmentCache::kMost));
  EXPECT_FALSE(has(7));
}

}  // namespace
}  // namespace softrnic::samehost
