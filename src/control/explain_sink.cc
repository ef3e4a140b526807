#include "control/explain_sink.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>

#include "base/clock.h"

namespace softrnic::control {
namespace {

std::atomic<PageWriter*> sink_page{nullptr};
std::atomic<bool> sink_prints{false};

/// Constant-initialized, and never destroyed in effect: other threads may explain until the very end.
constinit std::mutex sink_mutex;
constinit RepeatLimit repeat_limit;

// Repeats are kept out of the page, too: a program that posts until ENOMEM would wash
// everything else out of it.
void sink(const Explanation& explanation) {
  RepeatLimit::Verdict verdict;
  {
    const std::lock_guard lock(sink_mutex);
    verdict = repeat_limit.admit(explanation, monotonic_now());
  }
  if (!verdict.pass) return;
  if (PageWriter* page = sink_page.load(std::memory_order_acquire)) page->record(explanation);
  if (!sink_prints.load(std::memory_order_relaxed)) return;
  try {
    const std::string line = format_explanation(explanation, verdict.repeats);
    // One write a line, so that lines of several threads and processes do not mix.
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
  } catch (const std::bad_alloc&) {  // the page has it
  }
}

std::string number(const char* format, std::uint64_t value) {
  char text[48];
  std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

std::string format_explanation(const Explanation& explanation, std::uint64_t repeats) {
  const Language in = language();
  std::string out = "softrnic: ";
  if (explanation.qpn != 0) {
    out += number("QP 0x%llx", explanation.qpn);
    if (explanation.peer_qpn != 0)
      out += number(in_words(in, " (peer 0x%llx)", "（对端 0x%llx）"), explanation.peer_qpn);
  } else if (explanation.peer_qpn != 0) {
    out += number(in_words(in, "peer QP 0x%llx", "对端 QP 0x%llx"), explanation.peer_qpn);
  }
  if (explanation.has_wr_id)
    out += number(explanation.qpn != 0 ? " wr_id %llu" : "wr_id %llu", explanation.wr_id);
  if (out.back() != ' ') out += ": ";
  out += describe(explanation.reason, in);
  const std::string_view cure = reason_text(explanation.reason.id, in).cure;
  if (!cure.empty()) {
    out += " -> ";
    out += cure;
  }
  if (repeats != 0) out += number(in_words(in, " [and %llu more of these]", " [另有 %llu 条相同]"), repeats);
  out += '\n';
  return out;
}

RepeatLimit::Verdict RepeatLimit::admit(const Explanation& explanation, TimePoint now) {
  const std::size_t place =
      (static_cast<std::size_t>(explanation.reason.id) * 31 + explanation.qpn * 7) % entries_.size();
  Entry& entry = entries_[place];
  if (entry.reason != explanation.reason.id || entry.qpn != explanation.qpn) {
    entry = Entry{explanation.reason.id, explanation.qpn, now, 0, 0};
  }
  if (now - entry.window >= std::chrono::seconds(1)) {
    entry.window = now;
    entry.passed = 0;
  }
  if (now - window_ >= std::chrono::seconds(1)) {
    window_ = now;
    passed_ = 0;
  }
  if (entry.passed >= kPerSecond || passed_ >= kAllPerSecond) {
    ++entry.swallowed;
    return {};
  }
  ++passed_;
  ++entry.passed;
  const Verdict verdict{true, entry.swallowed};
  entry.swallowed = 0;
  return verdict;
}

void lock_explain_sink() { sink_mutex.lock(); }
void unlock_explain_sink() { sink_mutex.unlock(); }

void install_explain_sink(PageWriter* page, bool to_stderr) {
  sink_page.store(page, std::memory_order_release);
  sink_prints.store(to_stderr, std::memory_order_relaxed);
  set_explain_sink(sink);
}

}  // namespace softrnic::control
