#include "control/page_writer.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>

#include "control/page_record.h"
#include "control/shared_memory.h"
#include "rnic/context.h"
#include "rnic/queue_pair.h"

namespace softrnic::control {
namespace {

Page* map_private(void* at) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  void* mapped = mmap(at, kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Page*>(mapped);
}

PageExplanationBody to_body(const Explanation& explanation) {
  PageExplanationBody body;
  body.time_ns = explanation.time_ns != 0 ? explanation.time_ns : wall_clock_ns();
  body.qpn = explanation.qpn;
  body.peer_qpn = explanation.peer_qpn;
  body.wr_id = explanation.wr_id;
  body.has_wr_id = explanation.has_wr_id ? 1 : 0;
  body.reason = static_cast<std::uint32_t>(explanation.reason.id);
  std::copy(explanation.reason.figures.begin(), explanation.reason.figures.end(), body.figures);
  return body;
}

PageQpReasonsBody to_body(const ExplanationHistory& history) {
  PageQpReasonsBody body;
  for (std::size_t i = 0; i < history.entries().size(); ++i) {
    const ExplanationHistory::Entry& entry = history.entries()[i];
    if (entry.times != 0) body.entries[i] = {to_body(entry.latest), entry.times};
  }
  return body;
}

}  // namespace

PageWriter::PageWriter() {
  OwnedMemory memory = make_owned_memory("softrnic-page", kPageBytes);
  fd_ = memory.fd.release();
  page_ = static_cast<Page*>(memory.place);
  if (page_ == nullptr) page_ = map_private(nullptr);
  if (page_ == nullptr) return;
  PageHeader& header = page_->header;
  header.magic = kPageMagic;
  header.version = kPageVersion;
  header.page_bytes = static_cast<std::uint32_t>(kPageBytes);
  header.pid = getpid();
  header.started_ns = wall_clock_ns();
  prctl(PR_GET_NAME, header.comm);
}

PageWriter::~PageWriter() {
  if (page_ != nullptr) munmap(page_, kPageBytes);
  if (fd_ >= 0) close(fd_);
}

void PageWriter::detach_from_parent() {
  if (page_ != nullptr) map_private(page_);
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void PageWriter::retire(PageLane& from) {
  PageLane* to = nullptr;
  for (PageLane& place : page_->lanes)
    if (&place != &from && place.used.load(std::memory_order_relaxed) == 0) to = &place;
  for (std::size_t i = 0; i < kPageCounters; ++i) {
    if (to != nullptr) ib::add(to->counters[i], from.counters[i].load(std::memory_order_relaxed));
    from.counters[i].store(0, std::memory_order_relaxed);
  }
}

PageLane* PageWriter::add_lane(std::uint8_t lane) {
  if (page_ == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  for (PageLane& place : page_->lanes) {
    if (place.used.load(std::memory_order_relaxed) != 0) continue;
    retire(place);
    place.lane = lane;
    place.used.store(1, std::memory_order_release);
    return &place;
  }
  return nullptr;
}

void PageWriter::remove_lane(PageLane* lane) {
  if (lane != nullptr) lane->used.store(0, std::memory_order_release);
}

std::uint32_t PageWriter::take_row() {
  if (page_ == nullptr) return 0;
  const std::lock_guard lock(mutex_);
  if (!free_rows_.empty()) {
    const std::uint32_t row = free_rows_.back();
    free_rows_.pop_back();
    return row;
  }
  if (fresh_rows_ < kPageQps) return ++fresh_rows_;
  page_->header.qps_hidden.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

void PageWriter::give_back_row(std::uint32_t row) {
  if (row == 0) return;
  PageQp& place = page_->qps[row - 1];
  write_record(place.sequence, place.body, PageQpBody{});
  const std::lock_guard lock(mutex_);
  free_rows_.push_back(row);
}

void PageWriter::write_row(std::uint32_t row, const rnic::QueuePair& qp, std::uint8_t path) {
  if (row == 0) return;
  PageQp& place = page_->qps[row - 1];
  const rnic::QueuePairSummary summary = qp.summary();
  PageQpBody body;
  body.qpn = summary.local.value;
  body.peer_qpn = summary.remote.value;
  body.device = qp.context().info()->index;
  body.path_mtu = summary.path_mtu;
  body.type = static_cast<std::uint8_t>(summary.type);
  body.state = static_cast<std::uint8_t>(summary.state);
  body.path = path;
  std::memcpy(body.peer_gid, summary.peer_gid.raw.data(), sizeof body.peer_gid);
  if (qp.explained() != nullptr) {
    body.explained = 1;
    PageQpReasons& reasons = page_->reasons[row - 1];
    const PageQpReasonsBody latest = to_body(*qp.explained());
    if (std::memcmp(&reasons.body, &latest, sizeof latest) != 0)
      write_record(reasons.sequence, reasons.body, latest);
  }
  if (std::memcmp(&place.body, &body, sizeof body) != 0) write_record(place.sequence, place.body, body);
  place.send_psn.store(summary.send_psn, std::memory_order_relaxed);
  place.receive_psn.store(summary.receive_psn, std::memory_order_relaxed);
  const auto& counters = qp.counters().values();
  for (std::size_t i = 0; i < counters.size(); ++i)
    place.counters[i].store(counters[i], std::memory_order_relaxed);
}

void PageWriter::record(const Explanation& explanation) {
  if (page_ == nullptr) return;
  const std::uint64_t number = page_->header.explanations.fetch_add(1, std::memory_order_acq_rel);
  PageExplanation& place = page_->explanations[number % kPageExplanations];
  write_record(place.sequence, place.body, to_body(explanation));
}

}  // namespace softrnic::control
