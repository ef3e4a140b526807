#include "samehost/revocable_access.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/memory_copy.h"
#include "samehost/proc_threads.h"
#include "transport/ib/ordered_copy.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && __has_include(<sys/rseq.h>)
#include <dlfcn.h>
#include <sys/rseq.h>
#define SOFTRNIC_RSEQ 1
#else
#define SOFTRNIC_RSEQ 0
#endif

namespace softrnic::samehost {
namespace {

/// A Revocation as a sequence compares it: one side in memory, the other in a register.
struct Check {
  explicit Check(const Revocation& revocation)
      : revoked(*revocation.revoked), access(revocation.access->load(std::memory_order_relaxed)) {}
  const std::atomic<std::uint64_t>& revoked;
  std::uint64_t access;
};

#if SOFTRNIC_RSEQ

constexpr std::ptrdiff_t kNotLookedYet = 0, kNone = 1;  // where no area is: they are in front of the pointer
constinit std::atomic<std::ptrdiff_t> g_area_offset{kNotLookedYet};

// From a thread's pointer to its area. glibc registers one since 2.35, and says so by two variables; a
// program may run with an older one.
std::ptrdiff_t area_offset() {
  std::ptrdiff_t offset = g_area_offset.load(std::memory_order_relaxed);
  if (offset != kNotLookedYet) return offset;
  const auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  const auto* found = static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  offset = size == nullptr || *size == 0 || found == nullptr ? kNone : *found;
  g_area_offset.store(offset, std::memory_order_relaxed);
  return offset;
}

struct rseq& own_area() {
  return *reinterpret_cast<struct rseq*>(static_cast<std::byte*>(__builtin_thread_pointer()) + area_offset());
}

bool can_restart() { return area_offset() != kNone && static_cast<std::int32_t>(own_area().cpu_id) >= 0; }

// A sequence from label 1 to label 2 with `access`, whose last instruction is the only one that stores, at
// its end. When it was interrupted the kernel goes on at label 4, and with that at label 5; in front of label
// 4 stands the signature that glibc has registered, label 3 is a struct rseq_cs. In the end nothing points
// there any more: it goes when the library is unloaded.
#define SOFTRNIC_SEQUENCE(access)                       \
  ".pushsection .data.rel.ro.softrnic_rseq, \"aw\"\n\t" \
  ".balign 32\n\t"                                      \
  "3: .long 0, 0\n\t"                                   \
  ".quad 1f, 2f - 1f, 4f\n\t"                           \
  ".popsection\n\t"                                     \
  ".pushsection .text.softrnic_rseq, \"ax\"\n\t"        \
  ".byte 0x0f, 0xb9, 0x3d\n\t"                          \
  ".long 0x53053053\n\t"                                \
  "4: jmp 5f\n\t"                                       \
  ".popsection\n\t"                                     \
  "5: leaq 3b(%%rip), %%r11\n\t"                        \
  "movq %%r11, %[sequence]\n\t"                         \
  "movl $0, %[done]\n\t"                                \
  "1: cmpq %[access], %[revoked]\n\t"                   \
  "je 2f\n\t"                                           \
  "movl $1, %[done]\n\t" access                         \
  "\n\t"                                                \
  "2: movq $0, %[sequence]"
#define SOFTRNIC_SEQUENCE_OUT [done] "=&r"(done), [sequence] "+m"(area.rseq_cs)
#define SOFTRNIC_SEQUENCE_IN [revoked] "m"(check.revoked), [access] "r"(check.access)

// By vectors; `bytes` is a multiple of kBlock. One register holds the progress, and a loop that is begun
// anew stores the same again.
constexpr std::size_t kBlock = 64;
bool copy_blocks(std::byte* to, const std::byte* from, std::size_t bytes, const Check& check) {
  struct rseq& area = own_area();
  int done;
  auto at = -static_cast<std::ptrdiff_t>(bytes);
  asm volatile(SOFTRNIC_SEQUENCE("6: testq %[at], %[at]\n\t"
                                 "jns 2f\n\t"
                                 "movups (%[from],%[at]), %%xmm0\n\t"
                                 "movups 16(%[from],%[at]), %%xmm1\n\t"
                                 "movups 32(%[from],%[at]), %%xmm2\n\t"
                                 "movups 48(%[from],%[at]), %%xmm3\n\t"
                                 "movups %%xmm0, (%[to],%[at])\n\t"
                                 "movups %%xmm1, 16(%[to],%[at])\n\t"
                                 "movups %%xmm2, 32(%[to],%[at])\n\t"
                                 "movups %%xmm3, 48(%[to],%[at])\n\t"
                                 "addq $64, %[at]\n\t"
                                 "jmp 6b")
               : [at] "+&r"(at), SOFTRNIC_SEQUENCE_OUT
               : [to] "r"(to + bytes), [from] "r"(from + bytes), SOFTRNIC_SEQUENCE_IN
               : "r11", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory");
  return done != 0;
}

// The string instruction keeps its progress in its registers: the new beginning goes on
// where it was interrupted.
bool copy_string(std::byte* to, const std::byte* from, std::size_t bytes, const Check& check) {
  struct rseq& area = own_area();
  int done;
  asm volatile(SOFTRNIC_SEQUENCE("rep movsb")
               : "+D"(to), "+S"(from), "+c"(bytes), SOFTRNIC_SEQUENCE_OUT:SOFTRNIC_SEQUENCE_IN
               : "r11", "cc", "memory");
  return done != 0;
}

bool copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes, const Check& check) {
  const bool crawls =
      string_copy_crawls(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from));
  const std::size_t blocks = crawls ? bytes - bytes % kBlock : 0;
  return (blocks == 0 || copy_blocks(to, from, blocks, check)) &&
         copy_string(to + blocks, from + blocks, bytes - blocks, check);
}

template <typename Word>
bool copy_word(std::byte* to, const std::byte* from, const Check& check) {
  struct rseq& area = own_area();
  int done;
  Word word;
  asm volatile(SOFTRNIC_SEQUENCE("mov %[from], %[word]\n\tmov %[word], %[to]")
               : SOFTRNIC_SEQUENCE_OUT, [to] "=m"(*reinterpret_cast<Word*>(to)), [word] "=&r"(word)
               : SOFTRNIC_SEQUENCE_IN, [from] "m"(*reinterpret_cast<const Word*>(from))
               : "r11", "cc", "memory");
  return done != 0;
}

bool add(std::uint64_t* word, std::uint64_t& summand, const Check& check) {
  struct rseq& area = own_area();
  int done;
  asm volatile(SOFTRNIC_SEQUENCE("lock xaddq %[summand], %[place]")
               : SOFTRNIC_SEQUENCE_OUT, [place] "+m"(*word), [summand] "+r"(summand)
               : SOFTRNIC_SEQUENCE_IN
               : "r11", "cc", "memory");
  return done != 0;
}

bool exchange(std::uint64_t* word, std::uint64_t& value, const Check& check) {
  struct rseq& area = own_area();
  int done;
  asm volatile(SOFTRNIC_SEQUENCE("xchgq %[value], %[place]")
               : SOFTRNIC_SEQUENCE_OUT, [place] "+m"(*word), [value] "+r"(value)
               : SOFTRNIC_SEQUENCE_IN
               : "r11", "cc", "memory");
  return done != 0;
}

bool compare_swap(std::uint64_t* word, std::uint64_t& expected, std::uint64_t wanted, const Check& check) {
  struct rseq& area = own_area();
  int done;
  asm volatile(SOFTRNIC_SEQUENCE("lock cmpxchgq %[wanted], %[place]")
               : SOFTRNIC_SEQUENCE_OUT, [place] "+m"(*word), "+a"(expected)
               : SOFTRNIC_SEQUENCE_IN, [wanted] "r"(wanted)
               : "r11", "cc", "memory");
  return done != 0;
}

// The registers are set last: a call on the way to the system call, be it one that a
// sanitizer adds, would take them.
bool call(long& number, long a, long b, long c, long d, long e, long f, const Check& check) {
  struct rseq& area = own_area();
  register long a4 asm("r10") = d;
  register long a5 asm("r8") = e;
  register long a6 asm("r9") = f;
  int done;
  asm volatile(SOFTRNIC_SEQUENCE("syscall")
               : SOFTRNIC_SEQUENCE_OUT, "+a"(number)
               : SOFTRNIC_SEQUENCE_IN, "D"(a), "S"(b), "d"(c), "r"(a4), "r"(a5), "r"(a6)
               : "rcx", "r11", "cc", "memory");
  return done != 0;
}

#else

bool can_restart() { return false; }
bool copy_bytes(std::byte*, const std::byte*, std::size_t, const Check&) { return false; }
template <typename Word>
bool copy_word(std::byte*, const std::byte*, const Check&) {
  return false;
}
bool add(std::uint64_t*, std::uint64_t&, const Check&) { return false; }
bool exchange(std::uint64_t*, std::uint64_t&, const Check&) { return false; }
bool compare_swap(std::uint64_t*, std::uint64_t&, std::uint64_t, const Check&) { return false; }
bool call(long&, long, long, long, long, long, long, const Check&) { return false; }

#endif

template <typename Word>
bool copy_end_last(std::byte* to, const std::byte* from, std::size_t bytes, const Check& check) {
  const std::size_t before = bytes - sizeof(Word);
  return (before == 0 || copy_bytes(to, from, before, check)) &&
         copy_word<Word>(to + before, from + before, check);
}

/// Whether one of the calls that reach the memory of others has this number.
bool reaches_memory(long number) {
  return number == SYS_process_vm_readv || number == SYS_process_vm_writev || number == SYS_pread64 ||
         number == SYS_pwrite64;
}

/// `value`: what an operation of this kind begins with, afterwards the word before.
bool execute(std::uint64_t* word, const ib::AtomicOperation& operation, std::uint64_t& value,
             const Check& check) {
  switch (operation.kind) {
    case ib::AtomicKind::fetch_add:
      return add(word, value, check);
    case ib::AtomicKind::compare_swap:
      return compare_swap(word, value, operation.operand, check);
    case ib::AtomicKind::write:
      return exchange(word, value, check);
  }
  return false;
}

}  // namespace

bool accesses_are_revocable() { return can_restart(); }

bool revocable_copy(std::byte* to, const std::byte* from, std::size_t bytes, const Revocation& revocation) {
  if (revocation.revoked == nullptr || !can_restart()) {
    ib::ordered_copy(to, from, bytes);
    return true;
  }
  const auto end = reinterpret_cast<std::uintptr_t>(to) + bytes;
  if (bytes == 0) return true;
  const Check check(revocation);
  if (bytes >= 8 && end % 8 == 0) return copy_end_last<std::uint64_t>(to, from, bytes, check);
  if (bytes >= 4 && end % 4 == 0) return copy_end_last<std::uint32_t>(to, from, bytes, check);
  return copy_end_last<std::uint8_t>(to, from, bytes, check);
}

std::optional<std::uint64_t> revocable_execute(std::uint64_t* word, const ib::AtomicOperation& operation,
                                               const Revocation& revocation) {
  if (revocation.revoked == nullptr || !can_restart()) return ib::execute(word, operation);
  const Check check(revocation);
  std::uint64_t value =
      operation.kind == ib::AtomicKind::compare_swap ? operation.compare : operation.operand;
  return execute(word, operation, value, check) ? std::optional(value) : std::nullopt;
}

long revocable_call(const Revocation& revocation, long number, long a, long b, long c, long d, long e,
                    long f) {
  if (revocation.revoked == nullptr || !can_restart()) return syscall(number, a, b, c, d, e, f);
  if (!call(number, a, b, c, d, e, f, Check(revocation))) number = -ECANCELED;
  if (number >= 0 || number < -4095) return number;
  errno = static_cast<int>(-number);
  return -1;
}

// The kernel tells the system call only of a thread that is off the processor. Who is stopped by a signal has
// left its system calls; a debugger may have stopped it on the way into one.
bool is_stopped(pid_t thread) {
  char call[512];
  const char state = thread_state(thread);
  if ((state != 'T' && state != 't') || read_thread_file(thread, "syscall", call) == 0) return false;
  char* end = nullptr;
  const long number = std::strtol(call, &end, 10);
  if (end == call) return false;  // "running"
  return state == 'T' || !reaches_memory(number);
}

std::uint32_t own_pid_space() {
  struct stat space {};
  return stat("/proc/self/ns/pid", &space) == 0 ? static_cast<std::uint32_t>(space.st_ino) : 0;
}

}  // namespace softrnic::samehost
