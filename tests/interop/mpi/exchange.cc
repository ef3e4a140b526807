// What MPI programs do: messages of all sizes, collectives, one-sided access; every result is checked.
// Arguments: the names of the parts to run (none: all), and "brief" for a figure of speed that is only roughly right.
// Rank 0 prints "ok: NAME" for each part, and before the last of them latency and bandwidth.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <vector>

namespace {

int rank, ranks;
bool brief;

/// Ends all ranks with a word about what is wrong.
void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::uint8_t pattern(std::size_t at, int seed) {
  return static_cast<std::uint8_t>(at * 31 + at / 251 + seed * 7 + 1);
}

void fill(std::vector<std::uint8_t>& bytes, int seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(i, seed);
}

bool holds(const std::vector<std::uint8_t>& bytes, int seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(i, seed)) return false;
  return true;
}

/// Every rank to its neighbour on the right, from 0 bytes to 4 MiB, several at once.
void ring() {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  for (const int size : {0, 1, 8, 1000, 4096, 8192, 20'000, 65'536, 300'000, 1 << 22}) {
    constexpr int kAtOnce = 4;
    std::vector<std::vector<std::uint8_t>> out(kAtOnce), in(kAtOnce);
    std::vector<MPI_Request> requests;
    for (int i = 0; i < kAtOnce; ++i) {
      in[i].assign(size, 0);
      out[i].resize(size);
      fill(out[i], rank + i);
      MPI_Irecv(in[i].data(), size, MPI_BYTE, left, i, MPI_COMM_WORLD, &requests.emplace_back());
    }
    for (int i = kAtOnce - 1; i >= 0; --i)  // tags arrive in another order than the receives were posted
      MPI_Isend(out[i].data(), size, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; ++i) expect(holds(in[i], left + i), "bytes of a message");
  }
}

void collectives() {
  for (const int count : {1, 100, 10'000, 300'000}) {
    std::vector<double> mine(count), sum(count);
    for (int i = 0; i < count; ++i) mine[i] = rank + i;
    MPI_Allreduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      expect(sum[i] == ranks * (ranks - 1) / 2.0 + double(ranks) * i, "allreduce");
    std::vector<int> out(std::size_t(count) * ranks), in(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rank * 1'000'003 + int(i);
    MPI_Alltoall(out.data(), count, MPI_INT, in.data(), count, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < count; ++i)
        expect(in[std::size_t(r) * count + i] == r * 1'000'003 + rank * count + i, "alltoall");
    std::vector<int> told(count, rank == ranks - 1 ? 42 : 0);
    MPI_Bcast(told.data(), count, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    expect(std::all_of(told.begin(), told.end(), [](int v) { return v == 42; }), "bcast");
  }
  for (int i = 0; i < 200; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

void one_sided() {
  constexpr int kCount = 20'000;
  std::uint64_t* memory;
  MPI_Win window;
  MPI_Win_allocate((kCount + 1) * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  std::fill_n(memory, kCount + 1, 0);
  const int right = (rank + 1) % ranks;
  std::vector<std::uint64_t> out(kCount), in(kCount);
  std::iota(out.begin(), out.end(), std::uint64_t(rank) * 1'000'000);
  MPI_Win_fence(0, window);
  MPI_Put(out.data(), kCount, MPI_UINT64_T, right, 1, kCount, MPI_UINT64_T, window);
  MPI_Win_fence(0, window);
  expect(memory[kCount] == std::uint64_t((rank + ranks - 1) % ranks) * 1'000'000 + kCount - 1, "put");
  MPI_Get(in.data(), kCount, MPI_UINT64_T, right, 1, kCount, MPI_UINT64_T, window);
  MPI_Win_fence(0, window);
  expect(in == out, "get");
  MPI_Win_lock_all(0, window);
  const std::uint64_t one = 1;
  std::uint64_t before;
  for (int i = 0; i < 100; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    expect(memory[0] == std::uint64_t(100) * ranks, "fetch and add");
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::uint64_t mine = rank + 1, none = 0, found = 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
  MPI_Put(&none, 1, MPI_UINT64_T, right, 0, 1, MPI_UINT64_T, window);
  MPI_Win_flush(right, window);
  MPI_Compare_and_swap(&mine, &none, &found, MPI_UINT64_T, right, 0, window);
  MPI_Win_unlock(right, window);
  expect(found == 0, "compare and swap");
  std::vector<std::uint64_t> ones(1000, 1);
  MPI_Win_fence(0, window);
  for (int r = 0; r < ranks; ++r)
    MPI_Accumulate(ones.data(), 1000, MPI_UINT64_T, r, 1, 1000, MPI_UINT64_T, MPI_SUM, window);
  MPI_Win_fence(0, window);
  expect(memory[1000] == std::uint64_t((rank + ranks - 1) % ranks) * 1'000'000 + 999 + ranks, "accumulate");
  MPI_Win_free(&window);
}

/// Seconds for `rounds` round trips of `size` bytes between ranks 0 and 1.
double round_trips(int size, int rounds) {
  std::vector<std::uint8_t> bytes(size);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; rank < 2 && i < rounds; ++i) {
    if (rank == 0) MPI_Send(bytes.data(), size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(bytes.data(), size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes.data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

/// Bytes a second from rank 0 to rank 1, a window of messages at a time.
double stream(int size, int windows) {
  constexpr int kAtOnce = 16;
  std::vector<std::uint8_t> bytes(std::size_t(size) * kAtOnce);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int w = 0; rank < 2 && w < windows; ++w) {
    MPI_Request requests[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) {
      if (rank == 0)
        MPI_Isend(&bytes[std::size_t(i) * size], size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(&bytes[std::size_t(i) * size], size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE);
    if (rank == 1) MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return double(size) * kAtOnce * windows / (MPI_Wtime() - begin);
}

void speed() {
  const int rounds = brief ? 1000 : 10'000;
  round_trips(8, rounds / 10);
  const double seconds = round_trips(8, rounds);
  const double bytes = stream(1 << 16, rounds / 50);
  if (rank == 0)
    std::printf("latency of 8 bytes %.2f us, 64 KiB messages %.2f GB/s\n", seconds / rounds / 2 * 1e6,
                bytes / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  struct Part {
    const char* name;
    void (*run)();
  };
  std::vector<std::string_view> wanted(argv + 1, argv + argc);
  brief = std::erase(wanted, "brief") > 0;
  for (const auto& [name, run] :
       {Part{"ring", ring}, {"collectives", collectives}, {"one-sided", one_sided}, {"speed", speed}}) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("ok: %s\n", name), std::fflush(stdout);
  }
  MPI_Finalize();
}
