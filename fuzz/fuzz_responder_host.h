// The adapter around the endpoint that fuzz_responder drives: a little memory, a receive queue, and the rules
// that hold whatever packets come.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "base/reason_id.h"
#include "fuzz/check.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::fuzz {

/// Has a payload, or not any more.
class Rendezvous final : public ib::PayloadSource {
 public:
  explicit Rendezvous(bool gone) : gone_(gone) {}
  bool copy(std::size_t, std::byte* to, std::size_t size) override {
    if (!gone_) std::fill_n(to, size, std::byte{0x5a});
    return !gone_;
  }

 private:
  bool gone_;
};

/// Heap memory of exactly the size a key gives access to, so that AddressSanitizer sees every byte beyond.
struct FuzzRegion {
  explicit FuzzRegion(std::size_t size) : bytes(std::make_unique<std::byte[]>(size)), length(size) {}
  std::unique_ptr<std::byte[]> bytes;
  std::size_t length;
  bool usable = true;
};

class FuzzHost final : public ib::Host {
 public:
  static constexpr MemoryKey kTarget{0x11}, kSource{0x22}, kSink{0x33}, kReceive{0x44}, kWindow{0x55};
  static constexpr std::uint64_t kBase = 0x10000;
  static constexpr std::size_t kSize = 4096;

  FuzzHost() : Host(counters_) {}

  Expected<ib::HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address, std::uint64_t length,
                                                ib::LocalUse use) override {
    const bool writes = use != ib::LocalUse::send;
    FUZZ_CHECK(writes ? lkey != kSource : lkey != kReceive);
    return find(lkey, address, length, ReasonId::lkey_unknown);
  }
  Expected<ib::HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address, std::uint64_t length,
                                                 std::uint32_t access) override {
    FUZZ_CHECK(access == ib::kRemoteWrite || access == ib::kRemoteRead || access == ib::kRemoteAtomic ||
               access == ib::kFlushGlobal);
    if (rkey != kTarget) return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
    return find(rkey, address, length, ReasonId::nak_rkey_range);
  }
  Expected<void, Reason> remote_region(MemoryKey rkey, std::uint32_t access) override {
    FUZZ_CHECK(access == ib::kFlushGlobal);
    if (rkey != kTarget) return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
    return {};
  }
  std::byte* bounce_buffer(std::size_t size) override {
    if (bounce_.size() < size) bounce_.resize(size);
    return bounce_.data();
  }
  Expected<void, Reason> invalidate(MemoryKey rkey) override {
    if (rkey != kWindow || !window_valid_)
      return Unexpected{because(ReasonId::invalidate_region, rkey.value)};
    window_valid_ = false;
    return {};
  }
  /// Two SRQs that share their receives.
  Expected<void, Reason> select_srq(std::uint32_t number) override {
    if (number > 2) return Unexpected{because(ReasonId::nak_xrc_srq, number)};
    return {};
  }
  const ib::RecvWqe* take_receive() override {
    if (waiting_.empty()) return nullptr;
    taken_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    return &taken_.back()->wqe;
  }
  /// From now on the host looks at messages, and leaves their beginning out.
  void look() { look_ahead(32); }
  const ib::RecvWqe* take_receive_for(Bytes first, std::size_t size, bool) override {
    FUZZ_CHECK(first.size() == std::min<std::size_t>(size, 32));
    if (take_receive() == nullptr) return nullptr;
    taken_.back()->wqe.skipped = first.empty() ? 0 : static_cast<std::uint32_t>(first[0]) % 64;
    return &taken_.back()->wqe;
  }
  void complete(const ib::SendDone& done) override {
    FUZZ_CHECK(!silent_);
    FUZZ_CHECK(done.wr_id > last_send_done_ && done.wr_id <= sends_posted_);
    last_send_done_ = done.wr_id;
    if (done.status == ib::Status::success) successes_.push_back({1, done.wr_id, done.length});
  }
  void complete(const ib::RecvDone& done) override {
    FUZZ_CHECK(!silent_);
    FUZZ_CHECK(!taken_.empty() && taken_.front()->wqe.wr_id == done.wr_id);
    if (done.status == ib::Status::success && !done.is_write)
      FUZZ_CHECK(done.length <= taken_.front()->wqe.length + taken_.front()->wqe.skipped);
    if (done.status == ib::Status::success) successes_.push_back({2, done.wr_id, done.length});
    taken_.pop_front();
  }
  void event(ib::QpEvent) override { FUZZ_CHECK(!silent_); }
  void explain(const Reason& reason, const std::uint64_t*) override {
    FUZZ_CHECK(reason.id != ReasonId::none);
  }

  void post_receive(std::uint32_t length, bool split) {
    auto receive = std::make_unique<Receive>();
    const std::uint32_t head = split ? length / 3 : 0;
    receive->sges = {{kBase, head, kReceive}, {kBase + head, length - head, kReceive}};
    receive->wqe = {++receives_posted_, receive->sges, length};
    waiting_.push_back(std::move(receive));
  }
  std::uint64_t next_send_id() { return ++sends_posted_; }
  bool holds_receives() const { return !taken_.empty(); }
  void forget_receives() { taken_.clear(); }
  void toggle(MemoryKey key) { region(key).usable = !region(key).usable; }
  /// Work requests that completed well, in order: queue, number, length.
  const std::vector<std::array<std::uint64_t, 3>>& successes() const { return successes_; }
  /// From here on nothing may be reported.
  void be_silent() { silent_ = true; }

 private:
  ib::Counters counters_;
  struct Receive {
    std::vector<ib::Sge> sges;
    ib::RecvWqe wqe;
  };

  FuzzRegion& region(MemoryKey key) {
    return key == kTarget ? target_ : key == kSource ? source_ : key == kSink ? sink_ : receive_;
  }
  Expected<ib::HostMemory, Reason> find(MemoryKey key, std::uint64_t address, std::uint64_t length,
                                        ReasonId why) {
    FuzzRegion& r = region(key);
    const bool inside = address >= kBase && length <= r.length && address - kBase <= r.length - length;
    if (!r.usable || !inside) return Unexpected{because(why, key.value, length, address)};
    return ib::HostMemory{r.bytes.get() + (address - kBase), false};
  }

  FuzzRegion target_{kSize}, source_{kSize}, sink_{kSize}, receive_{kSize};
  std::deque<std::unique_ptr<Receive>> waiting_, taken_;
  std::uint64_t sends_posted_ = 0, last_send_done_ = 0, receives_posted_ = 0;
  std::vector<std::array<std::uint64_t, 3>> successes_;
  bool window_valid_ = true;
  bool silent_ = false;
  std::vector<std::byte> bounce_;
};

}  // namespace softrnic::fuzz
