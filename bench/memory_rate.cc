// What the machine itself does: copies within a process, copies by process_vm_writev into another that sits
// in read(), and the way of a cache line from one processor to another.
//
//   memory_rate memcpy|process_vm_writev --size BYTES [--seconds S | --count N] [--latency]
//   memory_rate cache_line
//
// Prints GB/s (10^9); with --latency, and for cache_line, the median time of one in us.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/interop/verify/channel.h"

using interop::require;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Options {
  std::string what;
  std::size_t size = 65536;
  std::size_t count = 0;  ///< copies; 0: as many as the seconds allow
  double seconds = 0.5;
  bool latency = false;
};

Options parse(int argc, char** argv) {
  Options o;
  require(argc > 1, "memcpy, process_vm_writev or cache_line");
  o.what = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--latency") {
      o.latency = true;
      continue;
    }
    require(i + 1 < argc, "an option without its value");
    const char* value = argv[++i];
    if (word == "--size")
      o.size = std::strtoull(value, nullptr, 0);
    else if (word == "--count")
      o.count = std::strtoull(value, nullptr, 0);
    else if (word == "--seconds")
      o.seconds = std::strtod(value, nullptr);
    else
      require(false, "an unknown option");
  }
  require(o.size > 0, "--size");
  return o;
}

std::byte* pages(std::size_t size, int kind) {
  void* place = mmap(nullptr, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
  require(place != MAP_FAILED, "mmap");
  return static_cast<std::byte*>(place);
}

/// A second process. It runs `life` and ends; the destructor ends it in any case, and so
/// does this process's death.
class Child {
 public:
  explicit Child(const std::function<void()>& life) : pid_(fork()) {
    require(pid_ >= 0, "fork");
    if (pid_ != 0) return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    life();
    _exit(0);
  }
  ~Child() {
    (void)kill(pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// Calls `copy` again and again and looks at the clock so rarely that this costs nothing.
double measure(const Options& o, const std::function<void()>& copy) {
  const std::size_t batch =
      o.latency ? (o.size < 65536 ? 16 : 1) : std::max<std::size_t>(1, (1 << 20) / o.size);
  std::vector<double> times;
  for (std::size_t i = 0; i < batch; ++i) copy();
  const auto begin = Clock::now();
  double now = 0;
  std::size_t done = 0;
  while (o.count ? done < o.count : now < o.seconds) {
    for (std::size_t i = 0; i < batch; ++i) copy();
    done += batch;
    const double then = seconds_since(begin);
    if (o.latency) times.push_back((then - now) / static_cast<double>(batch) * 1e6);
    now = then;
  }
  if (!o.latency) return static_cast<double>(done * o.size) / now / 1e9;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

double within(const Options& o) {
  std::byte* from = pages(o.size, MAP_PRIVATE);
  std::byte* to = pages(o.size, MAP_PRIVATE);
  std::memset(from, 1, o.size);
  std::memset(to, 2, o.size);
  return measure(o, [&] {
    std::memcpy(to, from, o.size);
    asm volatile("" : : "r"(to) : "memory");  // the copy is wanted, though nobody reads it
  });
}

/// The child owns its pages before the first copy, says so, and waits for nothing.
double across(const Options& o) {
  std::byte* from = pages(o.size, MAP_PRIVATE);
  std::byte* to = pages(o.size, MAP_PRIVATE);
  std::memset(from, 1, o.size);
  int ready[2], never[2];
  require(pipe(ready) == 0 && pipe(never) == 0, "pipe");
  const Child target([&] {
    std::memset(to, 2, o.size);
    char byte = 0;
    (void)!write(ready[1], &byte, 1);
    (void)!read(never[0], &byte, 1);
  });
  char byte = 0;
  require(read(ready[0], &byte, 1) == 1, "the target's answer");
  const iovec source{from, o.size}, place{to, o.size};
  return measure(o, [&] {
    require(process_vm_writev(target.pid(), &source, 1, &place, 1, 0) == static_cast<ssize_t>(o.size),
            "process_vm_writev");
  });
}

/// Two processes pass a number to and fro; half a round trip.
double line() {
  struct Table {
    alignas(128) std::atomic<std::uint32_t> there{0};
    alignas(128) std::atomic<std::uint32_t> back{0};
  };
  auto* table = new (pages(sizeof(Table), MAP_SHARED)) Table;
  const Child partner([table] {
    for (std::uint32_t i = 1;; ++i) {
      while (table->there.load(std::memory_order_acquire) != i) {
      }
      table->back.store(i, std::memory_order_release);
    }
  });
  std::vector<double> times(1000);
  std::uint32_t number = 0;
  for (double& time : times) {
    constexpr std::uint32_t kBatch = 100;
    const auto begin = Clock::now();
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      table->there.store(++number, std::memory_order_release);
      while (table->back.load(std::memory_order_acquire) != number) {
      }
    }
    time = seconds_since(begin) / kBatch / 2 * 1e6;
  }
  std::nth_element(times.begin(), times.begin() + 500, times.end());
  return times[500];
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  require(o.what == "memcpy" || o.what == "process_vm_writev" || o.what == "cache_line",
          "an unknown kind of copy");
  std::printf("%.4f\n", o.what == "cache_line" ? line() : o.what == "memcpy" ? within(o) : across(o));
}
