// Which memory of a process others can map, and what they have of it then.
#include "samehost/shared_range.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "samehost/proc_maps.h"

namespace softrnic::samehost {
namespace {

constexpr std::size_t kPage = 4096, kAreaBytes = 16 * kPage;

/// A mapping of kAreaBytes that goes with it.
class Area {
 public:
  Area(int flags, int fd, off_t offset = 0)
      : place(static_cast<std::uint8_t*>(
            mmap(nullptr, kAreaBytes, PROT_READ | PROT_WRITE, flags, fd, offset))) {
    EXPECT_NE(static_cast<void*>(place), MAP_FAILED);
  }
  ~Area() { munmap(place, kAreaBytes); }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(place); }

  std::uint8_t* const place;
};

UniqueFd memfd(int seals, std::size_t bytes = kAreaBytes) {
  UniqueFd fd(memfd_create("shared range", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

std::optional<OwnedRange> own(std::uint64_t address, ShareFiles files = ShareFiles::fixed) {
  const auto found = find_shared_range(address, 1);
  return found ? own_shared_range(*found, files) : std::nullopt;
}

MappedRange map(const OwnedRange& owned, ShareFiles files = ShareFiles::fixed) {
  return MappedRange::map(getpid(), owned.range, files);
}

std::uint8_t* at(const MappedRange& mapped, std::uint64_t address) {
  return reinterpret_cast<std::uint8_t*>(mapped.at(address));
}

TEST(Mapping, BothWaysFindTheSame) {
  const UniqueFd fd = memfd(0);
  const Area shared(MAP_SHARED, fd.get());
  const Area copied(MAP_PRIVATE, fd.get());
  for (const Area* area : {&shared, &copied}) {
    area->place[kPage] = 1;
    bool supported = false;
    const auto asked = ask_for_mapping(area->address() + kPage, supported);
    if (!supported) GTEST_SKIP() << "this kernel has only the list";
    const auto looked = look_for_mapping(area->address() + kPage);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->shared, area == &shared);
    EXPECT_EQ(looked.has_value(),
              area == &shared);  // a page of a private mapping that was written is no file's
    if (!looked) continue;
    EXPECT_EQ(looked->start, asked->start);
    EXPECT_EQ(looked->end, asked->end);
    EXPECT_EQ(looked->offset, asked->offset);
    EXPECT_EQ(looked->device, asked->device);
    EXPECT_EQ(looked->inode, asked->inode);
    EXPECT_EQ(looked->writable, asked->writable);
    EXPECT_EQ(looked->name, asked->name);
  }
}

TEST(Mapping, PagesThatWereNeverTouchedAreFoundToo) {
  const UniqueFd fd = memfd(0);
  const Area shared(MAP_SHARED, fd.get());
  const auto looked = look_for_mapping(shared.address() + 3 * kPage);
  ASSERT_TRUE(looked);
  EXPECT_TRUE(looked->shared);
}

TEST(SharedRange, TheSameBytesInASealedMemfd) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK, 2 * kAreaBytes);
  const Area area(MAP_SHARED, fd.get(), kAreaBytes);
  const auto owned = own(area.address() + kPage);
  ASSERT_TRUE(owned);
  EXPECT_EQ(owned->range.start, area.address());
  EXPECT_EQ(owned->range.offset, kAreaBytes);
  const MappedRange mapped = map(*owned);
  ASSERT_TRUE(mapped);
  area.place[kPage + 5] = 77;
  EXPECT_EQ(at(mapped, area.address() + kPage + 5)[0], 77);
  *at(mapped, area.address() + kAreaBytes - 1) = 88;
  EXPECT_EQ(area.place[kAreaBytes - 1], 88);
}

TEST(SharedRange, OfAFileThatCanShrinkOnlyWhenItIsSaidToStay) {
  const UniqueFd fd = memfd(0);
  const Area area(MAP_SHARED, fd.get());
  EXPECT_FALSE(own(area.address()));
  const auto owned = own(area.address(), ShareFiles::all);
  ASSERT_TRUE(owned);
  EXPECT_FALSE(map(*owned, ShareFiles::fixed));  // whatever the owner thinks of it
  EXPECT_TRUE(map(*owned, ShareFiles::all));
  EXPECT_FALSE(own(area.address(), ShareFiles::none));
}

TEST(SharedRange, AFileOfAFileSystemOnlyWhenItIsSaidToStay) {
  for (const char* directory : {"/tmp", "/dev/shm"}) {
    std::string name = std::string(directory) + "/softrnic-XXXXXX";
    const UniqueFd fd(mkostemp(name.data(), O_CLOEXEC));
    if (!fd) continue;
    unlink(name.c_str());
    ASSERT_EQ(ftruncate(fd.get(), kAreaBytes), 0);
    const Area area(MAP_SHARED, fd.get());
    EXPECT_FALSE(own(area.address()));
    const auto owned = own(area.address(), ShareFiles::all);
    ASSERT_TRUE(owned) << directory;
    const MappedRange mapped = map(*owned, ShareFiles::all);
    ASSERT_TRUE(mapped) << directory;
    area.place[9] = 9;
    EXPECT_EQ(at(mapped, area.address())[9], 9);
  }
}

TEST(SharedRange, PrivateMemoryIsNotShared) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK);
  const Area of_file(MAP_PRIVATE, fd.get());
  const Area of_none(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  for (const Area* area : {&of_file, &of_none}) {
    EXPECT_FALSE(find_shared_range(area->address(), kAreaBytes));
    area->place[0] = 1;
    EXPECT_FALSE(find_shared_range(area->address(), kAreaBytes));
  }
  static std::uint8_t data[2 * kPage] = {1};
  EXPECT_FALSE(find_shared_range(reinterpret_cast<std::uint64_t>(data), sizeof data));
}

TEST(SharedRange, MemoryWithoutAFileWhereTheKernelLetsUsAtIt) {
  const Area area(MAP_SHARED | MAP_ANONYMOUS, -1);
  const auto owned = own(area.address());
  if (!owned) GTEST_SKIP() << "needs CAP_CHECKPOINT_RESTORE";
  const MappedRange mapped = map(*owned);
  ASSERT_TRUE(mapped);
  area.place[1] = 11;
  EXPECT_EQ(at(mapped, area.address())[1], 11);
}

/// A segment of System V is found, mapped and written through.
void expect_segment_is_shared() {
  const int id = shmget(IPC_PRIVATE, kAreaBytes, IPC_CREAT | 0600);
  ASSERT_GE(id, 0);
  auto* const place = static_cast<std::uint8_t*>(shmat(id, nullptr, 0));
  shmctl(id, IPC_RMID, nullptr);
  const auto address = reinterpret_cast<std::uint64_t>(place);
  const auto owned = own(address + kPage);
  ASSERT_TRUE(owned);
  EXPECT_EQ(owned->range.handle, id);
  {
    const MappedRange mapped = map(*owned);
    ASSERT_TRUE(mapped);
    place[kPage] = 5;
    EXPECT_EQ(at(mapped, address + kPage)[0], 5);
  }
  shmdt(place);
  EXPECT_FALSE(map(*owned));
}

TEST(SharedRange, ASystemVSegment) { expect_segment_is_shared(); }

/// Its id is 0, and the kernel lists that as the inode number.
TEST(SharedRange, TheFirstSystemVSegmentOfAMachine) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWIPC) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWIPC) != 0) _exit(2);
    expect_segment_is_shared();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no namespace of System V ids to be had";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SharedRange, StaysWhereTheOwnerMapsSomethingElse) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK);
  const Area area(MAP_SHARED, fd.get());
  const Area rendezvous(MAP_SHARED, fd.get());
  const auto owned = own(area.address());
  ASSERT_TRUE(owned);
  ASSERT_NE(
      mmap(area.place, kAreaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      MAP_FAILED);
  const MappedRange mapped = map(*owned);
  ASSERT_TRUE(mapped);
  *at(mapped, area.address()) = 3;
  EXPECT_EQ(area.place[0], 0);
  EXPECT_EQ(rendezvous.place[0], 3);
  EXPECT_FALSE(find_shared_range(area.address(), 1));
}

TEST(SharedRange, HolesInItAreFilledWithZeros) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK);
  const Area area(MAP_SHARED, fd.get());
  const auto owned = own(area.address());
  ASSERT_TRUE(owned);
  const MappedRange mapped = map(*owned);
  ASSERT_TRUE(mapped);
  *at(mapped, area.address()) = 3;
  EXPECT_EQ(ftruncate(fd.get(), 0), -1);
  ASSERT_EQ(fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kAreaBytes), 0);
  EXPECT_EQ(*at(mapped, area.address()), 0);
  *at(mapped, area.address()) = 4;
  EXPECT_EQ(area.place[0], 4);
}

TEST(SharedRange, NotBeyondTheEndOfTheFile) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK, kPage + 1);
  const Area area(MAP_SHARED, fd.get());
  const auto owned = own(area.address());
  ASSERT_TRUE(owned);
  EXPECT_EQ(owned->range.length, 2 * kPage);
  EXPECT_TRUE(map(*owned));
  OwnedRange too_long{owned->range, UniqueFd()};
  too_long.range.length = kAreaBytes;
  EXPECT_FALSE(map(too_long));
  const UniqueFd small = memfd(F_SEAL_SHRINK, kPage);
  const Area behind(MAP_SHARED, small.get(), kAreaBytes);
  EXPECT_FALSE(own(behind.address()));
}

TEST(SharedRange, ADescriptorThatIsAnotherFilesByNowIsNotMapped) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK);
  const UniqueFd other = memfd(F_SEAL_SHRINK);
  const Area area(MAP_SHARED, fd.get());
  const auto owned = own(area.address());
  ASSERT_TRUE(owned);
  ASSERT_EQ(dup3(other.get(), owned->fd.get(), O_CLOEXEC), owned->fd.get());
  EXPECT_FALSE(map(*owned));
  UniqueFd zero(open("/dev/zero", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(dup3(zero.get(), owned->fd.get(), O_CLOEXEC), owned->fd.get());
  EXPECT_FALSE(map(*owned));
}

TEST(SharedRange, GoesOnWhereTheKernelHasCutTheMapping) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK);
  const Area area(MAP_SHARED, fd.get());
  ASSERT_EQ(madvise(area.place + 4 * kPage, 4 * kPage, MADV_DONTFORK), 0);
  const auto found = find_shared_range(area.address(), kAreaBytes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start, area.address());
  EXPECT_EQ(found->length, kAreaBytes);
}

TEST(SharedRange, ReadOnlyMemoryIsMappedSo) {
  const UniqueFd fd = memfd(F_SEAL_SHRINK);
  const Area area(MAP_SHARED, fd.get());
  ASSERT_EQ(mprotect(area.place, kAreaBytes, PROT_READ), 0);
  const auto owned = own(area.address());
  ASSERT_TRUE(owned);
  const MappedRange mapped = map(*owned);
  ASSERT_TRUE(mapped);
  const auto there = mapping_at(mapped.at(area.address()));
  ASSERT_TRUE(there);
  EXPECT_FALSE(there->writable);
}

TEST(SharedRange, AnOrdinaryUserNeedsADescriptor) {
  const pid_t child = fork();
  if (child == 0) {
    // in a user namespace there may be nobody else, but its capabilities do not count here
    static_cast<void>(setuid(65534));
    UniqueFd fd = memfd(F_SEAL_SHRINK);
    const Area area(MAP_SHARED, fd.get());
    const auto kept = own(area.address());
    const bool mapped = kept && map(*kept);
    fd.reset();
    const auto again = own(area.address());  // by the descriptor that was kept
    _exit(mapped && again ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace softrnic::samehost
