#include "control/page_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "control/page_record.h"
#include "control/shared_memory.h"

namespace softrnic::control {
namespace {

CounterValues read_counters(const PageCounter (&counters)[kPageCounters]) {
  CounterValues out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = counters[i].load(std::memory_order_relaxed);
  return out;
}

std::optional<Explanation> to_explanation(const PageExplanationBody& body) {
  if (body.time_ns == 0 || body.reason >= reason_count()) return std::nullopt;
  Explanation out;
  out.time_ns = body.time_ns;
  out.qpn = body.qpn;
  out.peer_qpn = body.peer_qpn;
  out.wr_id = body.wr_id;
  out.has_wr_id = body.has_wr_id != 0;
  out.reason.id = static_cast<ReasonId>(body.reason);
  std::copy(std::begin(body.figures), std::end(body.figures), out.reason.figures.begin());
  return out;
}

}  // namespace

Expected<PageReader, int> PageReader::open(int fd) {
  if (!is_shared_memory(fd, 0)) return Unexpected{EPERM};
  if (!is_shared_memory(fd, kPageBytes)) return Unexpected{EMSGSIZE};
  void* mapped = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return Unexpected{errno};
  PageReader reader(static_cast<const Page*>(mapped));
  const PageHeader& header = reader.page_->header;
  if (header.magic != kPageMagic || header.version != kPageVersion) return Unexpected{EPROTO};
  return reader;
}

PageReader::PageReader(PageReader&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
PageReader& PageReader::operator=(PageReader&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}
PageReader::~PageReader() {
  if (page_ != nullptr) munmap(const_cast<Page*>(page_), kPageBytes);
}

ProcessView PageReader::process() const {
  ProcessView out;
  char comm[sizeof page_->header.comm];
  std::memcpy(comm, page_->header.comm, sizeof comm);
  out.pid = page_->header.pid;
  out.comm.assign(comm, strnlen(comm, sizeof comm));
  out.started_ns = page_->header.started_ns;
  return out;
}

std::vector<LaneView> PageReader::lanes() const {
  std::vector<LaneView> out;
  for (const PageLane& lane : page_->lanes) {
    if (lane.used.load(std::memory_order_acquire) == 0) continue;
    out.push_back({lane.lane, read_counters(lane.counters)});
  }
  return out;
}

CounterValues PageReader::counted() const {
  CounterValues sum{};
  for (const PageLane& lane : page_->lanes) {
    const CounterValues values = read_counters(lane.counters);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  return sum;
}

std::vector<ExplanationHistory::Entry> PageReader::reasons_of(const PageQp& row) const {
  const PageQpReasons& place = page_->reasons[&row - page_->qps];
  PageQpReasonsBody body;
  std::vector<ExplanationHistory::Entry> out;
  if (!read_record(place.sequence, place.body, body)) return out;
  for (const PageQpReasonsBody::Entry& entry : body.entries) {
    const auto latest = entry.times != 0 ? to_explanation(entry.latest) : std::nullopt;
    if (latest) out.push_back({*latest, entry.times});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.latest.time_ns < b.latest.time_ns; });
  return out;
}

std::vector<QpView> PageReader::qps() const {
  std::vector<QpView> out;
  for (const PageQp& row : page_->qps) {
    QpView view;
    if (row.sequence.load(std::memory_order_relaxed) == 0 ||
        !read_record(row.sequence, row.body, view.body) || view.body.qpn == 0) {
      continue;
    }
    view.send_psn = row.send_psn.load(std::memory_order_relaxed);
    view.receive_psn = row.receive_psn.load(std::memory_order_relaxed);
    view.counters = read_counters(row.counters);
    if (view.body.explained != 0) view.reasons = reasons_of(row);
    out.push_back(std::move(view));
  }
  return out;
}

std::vector<Explanation> PageReader::explanations() const {
  std::vector<Explanation> out;
  const std::uint64_t written = page_->header.explanations.load(std::memory_order_acquire);
  const std::uint64_t first = written > kPageExplanations ? written - kPageExplanations : 0;
  for (std::uint64_t n = first; n < written; ++n) {
    const PageExplanation& record = page_->explanations[n % kPageExplanations];
    PageExplanationBody body;
    if (!read_record(record.sequence, record.body, body)) continue;
    if (const auto explanation = to_explanation(body)) out.push_back(*explanation);
  }
  return out;
}

}  // namespace softrnic::control
