#include "copy/bulk_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/unique_fd.h"
#include "copy/cache_room.h"

namespace softrnic::copy {
namespace {

constexpr std::size_t kPiece = 1U << 20;

class BulkFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = UniqueFd(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    ASSERT_TRUE(fd_) << strerror(errno);
    pattern_ = memory_.room(kPiece + kDirectAlignment);
    for (std::size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = static_cast<std::byte>(i * 7 + i / 4096);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// Pages of the file that the page cache holds.
  std::size_t cached_pages() const {
    const auto size = static_cast<std::size_t>(std::filesystem::file_size(path_));
    if (size == 0) return 0;
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_.get(), 0);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(mincore(mapped, size, pages.data()), 0);
    munmap(mapped, size);
    return static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.end(), [](auto one) { return (one & 1) != 0; }));
  }

  /// Whether the file system of the test keeps what is written past the cache out of the cache: not all do.
  bool has_direct_io() {
    const UniqueFd direct(open(path_.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
    const bool has = direct && pwrite(direct.get(), pattern_.data(), 4096, 0) == 4096 && cached_pages() == 0;
    return ftruncate(fd_.get(), 0) == 0 && has;
  }

  std::vector<std::byte> content() const {
    std::vector<std::byte> out(static_cast<std::size_t>(std::filesystem::file_size(path_)));
    const UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));  // without O_DIRECT
    EXPECT_EQ(pread(file.get(), out.data(), out.size(), 0), static_cast<ssize_t>(out.size()));
    return out;
  }

  void expect_pattern(std::size_t size, std::uint64_t at = 0) const {
    const auto there = content();
    ASSERT_EQ(there.size(), at + size);
    EXPECT_TRUE(std::equal(there.begin() + static_cast<std::ptrdiff_t>(at), there.end(), pattern_.begin()));
  }

  std::string path_ = testing::TempDir() + "softrnic-bulk-" + std::to_string(getpid());
  UniqueFd fd_;
  AlignedBytes memory_;
  MutableBytes pattern_;
};

std::uint64_t no_room() { return 0; }
std::uint64_t room_of_100_mib() { return 100U << 20; }

TEST_F(BulkFileTest, OddSizesAreWrittenAndReadWhole) {
  for (const DirectIo choice : {DirectIo::always, DirectIo::never, DirectIo::automatic})
    for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 12288U, 1U << 20, (1U << 20) + 1}) {
      ASSERT_EQ(ftruncate(fd_.get(), 0), 0);
      BulkFile file(fd_.get(), choice, size, no_room);
      const Bytes bytes = pattern_.first(size);
      const std::size_t even = size / 4096 * 4096;  // pieces as a copy has them: the last is what is left
      ASSERT_EQ(file.write(0, bytes.first(even)), 0);
      ASSERT_EQ(file.write(even, bytes.subspan(even)), 0);
      expect_pattern(size);
      AlignedBytes memory;
      const MutableBytes back = memory.room(size);
      BulkFile again(fd_.get(), choice, size, no_room);
      ASSERT_EQ(again.read(0, back.first(even)), 0);
      ASSERT_EQ(again.read(even, back.subspan(even)), 0);
      EXPECT_TRUE(std::equal(back.begin(), back.end(), pattern_.begin())) << size;
      EXPECT_EQ(again.read(even, memory.room(8192)), ENODATA) << "the file ends before";
    }
}

TEST_F(BulkFileTest, MemoryAndOffsetsMayBeUnaligned) {
  BulkFile file(fd_.get(), DirectIo::always, 0);
  ASSERT_EQ(file.write(0, pattern_.first(8192)), 0);
  ASSERT_EQ(file.write(4096, Bytes(pattern_).subspan(64, 4096)), 0);
  ASSERT_EQ(file.write(8192 + 100, pattern_.first(4096)), 0);
  const auto there = content();
  EXPECT_TRUE(std::equal(there.begin(), there.begin() + 4096, pattern_.begin()));
  EXPECT_TRUE(std::equal(there.begin() + 4096, there.begin() + 8192, pattern_.begin() + 64));
  EXPECT_TRUE(std::equal(there.begin() + 8292, there.end(), pattern_.begin()));
  std::vector<std::byte> odd(4096 + 3);
  ASSERT_EQ(file.read(1, MutableBytes(odd).subspan(3)), 0);
  EXPECT_TRUE(std::equal(odd.begin() + 3, odd.end(), there.begin() + 1));
}

TEST_F(BulkFileTest, WhatIsMovedDirectlyLeavesTheCacheAlone) {
  if (!has_direct_io()) GTEST_SKIP() << "the file system of " << path_ << " caches all it writes";
  BulkFile file(fd_.get(), DirectIo::always, kPiece);
  ASSERT_EQ(file.write(0, pattern_.first(kPiece)), 0);
  EXPECT_EQ(cached_pages(), 0U);
  AlignedBytes memory;
  const MutableBytes back = memory.room(kPiece);
  ASSERT_EQ(file.read(0, back), 0);
  EXPECT_EQ(cached_pages(), 0U);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), pattern_.begin()));
}

TEST_F(BulkFileTest, AFileThatMemoryCanHoldGoesThroughTheCache) {
  for (const std::uint64_t size : {std::uint64_t{kPiece}, std::uint64_t{99} << 20}) {
    BulkFile file(fd_.get(), DirectIo::automatic, size, room_of_100_mib);
    ASSERT_EQ(file.write(0, pattern_.first(kPiece)), 0);
    EXPECT_EQ(cached_pages(), kPiece / 4096);
  }
}

TEST_F(BulkFileTest, AFileThatIsLargerThanMemoryDoesNot) {
  if (!has_direct_io()) GTEST_SKIP() << "the file system of " << path_ << " caches all it writes";
  BulkFile file(fd_.get(), DirectIo::automatic, std::uint64_t{101} << 20, room_of_100_mib);
  ASSERT_EQ(file.write(0, pattern_.first(kPiece)), 0);
  EXPECT_EQ(cached_pages(), 0U);
}

TEST_F(BulkFileTest, AFileOfUnknownSizeDoesNotFromWhereItHasOutgrownMemory) {
  if (!has_direct_io()) GTEST_SKIP() << "the file system of " << path_ << " caches all it writes";
  BulkFile file(fd_.get(), DirectIo::automatic, 0, room_of_100_mib);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(file.write(0, pattern_.first(kPiece)), 0);
  EXPECT_EQ(cached_pages(), kPiece / 4096);
  ASSERT_EQ(file.write(kPiece, pattern_.first(kPiece)), 0);
  EXPECT_EQ(cached_pages(), kPiece / 4096) << "of the first piece alone";
}

TEST_F(BulkFileTest, AFileSystemWithoutDirectAccessIsWrittenThroughTheCache) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // a pipe has no offsets either, so that the call fails with its own error
  const UniqueFd from(ends[0]), to(ends[1]);
  EXPECT_EQ(BulkFile(to.get(), DirectIo::always, 0).write(0, pattern_.first(4096)), ESPIPE);
  const UniqueFd memory(memfd_create("bulk", MFD_CLOEXEC));  // tmpfs, which refused O_DIRECT until Linux 6.6
  BulkFile file(memory.get(), DirectIo::always, 0);
  ASSERT_EQ(file.write(0, pattern_.first(8192)), 0);
  std::vector<std::byte> back(8192);
  ASSERT_EQ(file.read(0, back), 0);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), pattern_.begin()));
}

/// A tree of files as the kernel would show them.
class CacheRoomTest : public testing::Test {
 protected:
  void SetUp() override {
    put("/proc/meminfo", "MemTotal:  900 kB\nMemFree: 5 kB\nMemAvailable:   800 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void put_group(const std::string& path, const std::string& limit, int usage, int file, int shared) {
    put("/sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    put("/sys/fs/cgroup" + path + "/memory.current", std::to_string(usage) + "\n");
    put("/sys/fs/cgroup" + path + "/memory.stat",
        "anon 7\nfile " + std::to_string(file) + "\nshmem " + std::to_string(shared) + "\n");
  }
  std::string root_ = testing::TempDir() + "softrnic-room-" + std::to_string(getpid());
};

TEST_F(CacheRoomTest, IsWhatIsAvailable) {
  EXPECT_EQ(room_in_page_cache(root_), 800U * 1024);
  put("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(room_in_page_cache(root_), 800U * 1024) << "the root group has no limit";
}

TEST_F(CacheRoomTest, IsWhatTheTightestGroupLeaves) {
  put("/proc/self/cgroup", "0::/user/one\n");
  put_group("/user/one", "max", 90'000, 0, 0);
  put_group("/user", "100000", 70'000, 30'000, 10'000);
  EXPECT_EQ(room_in_page_cache(root_), 50'000U) << "30,000 are free, of 20,000 the cache";
  put_group("/user/one", "10000", 20'000, 0, 0);
  EXPECT_EQ(room_in_page_cache(root_), 0U);
}

TEST_F(CacheRoomTest, KnowsTheGroupsOfVersion1) {
  put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "60000\n");
  put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "20000\n");
  put("/sys/fs/cgroup/memory/a/memory.stat", "cache 9\ntotal_cache 5000\ntotal_shmem 1000\n");
  EXPECT_EQ(room_in_page_cache(root_), 44'000U);
}

TEST_F(CacheRoomTest, AContainerSeesItsOwnGroupAsTheRoot) {
  put("/proc/self/cgroup", "0::/docker/0123\n");
  put_group("", "5000", 1000, 0, 0);
  EXPECT_EQ(room_in_page_cache(root_), 4000U);
}

TEST_F(CacheRoomTest, NobodyKnowsNoLimit) {
  std::filesystem::remove(root_ + "/proc/meminfo");
  EXPECT_EQ(room_in_page_cache(root_), ~std::uint64_t{0});
  EXPECT_GT(room_in_page_cache(), 0U) << "of this host";
}

}  // namespace
}  // namespace softrnic::copy
