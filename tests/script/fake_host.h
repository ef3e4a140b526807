// An adapter of one QP for tests: memory regions by key, a list of receives, and a log of
// everything that is reported.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/reason_id.h"
#include "transport/ib/host.h"

namespace softrnic::ib::test {

class FakeHost final : public Host {
 public:
  FakeHost() : Host(counters) {}

  struct Region {
    std::uint64_t base = 0;
    std::byte* memory = nullptr;
    std::uint64_t length = 0;
    std::uint32_t access = 0;
    bool on_demand = false;
  };
  struct Receive {
    std::vector<Sge> sges;
    RecvWqe wqe;
  };

  std::map<std::uint32_t, Region> regions;
  std::deque<Receive> receives;  ///< posted; those taken stay, in front of `taken`
  std::size_t taken = 0;
  std::vector<SendDone> sends;
  std::vector<RecvDone> recvs;
  std::vector<QpEvent> events;
  std::vector<Reason> reasons;
  Counters counters;
  std::vector<std::uint32_t> invalidated;

  /// What direct() was asked to move, and how many more pieces it will move before it refuses.
  struct Direct {
    std::uint32_t offset;
    std::uint32_t psn;
    bool operator==(const Direct&) const = default;
  };
  std::vector<Direct> directs;
  unsigned direct_calls = 0;  ///< refused ones included
  unsigned direct_budget = 0;
  std::uint32_t direct_piece = 1000;

  void post_receive(std::uint64_t wr_id, std::vector<Sge> sges) {
    receives.push_back({std::move(sges), {}});
    Receive& r = receives.back();
    r.wqe.wr_id = wr_id;
    r.wqe.sges = r.sges;
    for (const Sge& sge : r.sges) r.wqe.length += sge.length;
  }

  Expected<HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address, std::uint64_t length,
                                            LocalUse use) override {
    const std::uint32_t access = use == LocalUse::send ? 0U : std::uint32_t{kLocalWrite};
    auto* found = find(lkey, address, length);
    if (found == nullptr || (found->access & access) != access) {
      return Unexpected{because(ReasonId::lkey_unknown, lkey.value, length, address, access)};
    }
    return HostMemory{found->memory + (address - found->base), found->on_demand};
  }
  Expected<HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address, std::uint64_t length,
                                             std::uint32_t access) override {
    auto it = regions.find(rkey.value);
    if (it == regions.end()) return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
    const Region& r = it->second;
    if ((r.access & access) == 0)
      return Unexpected{because(ReasonId::nak_rkey_access, rkey.value, r.access, access)};
    if (find(rkey, address, length) == nullptr) {
      return Unexpected{because(ReasonId::nak_rkey_range, address, length, 0, rkey.value)};
    }
    return HostMemory{r.memory + (address - r.base), r.on_demand};
  }
  Expected<void, Reason> remote_region(MemoryKey rkey, std::uint32_t access) override {
    const auto it = regions.find(rkey.value);
    if (it == regions.end() || (access & ~it->second.access) != 0)
      return Unexpected{because(ReasonId::nak_rkey_access, rkey.value, 0, access)};
    return {};
  }
  Expected<void, Reason> invalidate(MemoryKey rkey) override {
    if (regions.erase(rkey.value) == 0) return Unexpected{because(ReasonId::invalidate_region, rkey.value)};
    invalidated.push_back(rkey.value);
    return {};
  }
  std::set<std::uint32_t> srqs;  ///< of XRC, by number; they share `receives`
  std::uint32_t selected_srq = 0;
  Expected<void, Reason> select_srq(std::uint32_t number) override {
    if (!srqs.contains(number)) return Unexpected{because(ReasonId::nak_xrc_srq, number)};
    selected_srq = number;
    return {};
  }
  /// What was executed without a packet, and whether that succeeds.
  std::vector<SendOp> executed;
  bool windows_refuse = false;
  Expected<void, Reason> execute_locally(const SendWqe& wqe) override {
    if (windows_refuse) return Unexpected{because(ReasonId::no_such_window, wqe.rkey.value)};
    executed.push_back(wqe.op);
    return {};
  }
  const RecvWqe* take_receive() override {
    return taken == receives.size() ? nullptr : &receives[taken++].wqe;
  }
  /// Bytes that a receive leaves out, where messages are looked at; and what was seen of them.
  std::uint32_t skip = 0;
  struct Look {
    std::vector<std::byte> first;
    std::size_t size;
    bool whole;
  };
  std::vector<Look> looks;
  void look_at(std::size_t bytes) { look_ahead(bytes); }
  const RecvWqe* take_receive_for(Bytes first, std::size_t size, bool whole) override {
    looks.push_back({{first.begin(), first.end()}, size, whole});
    if (taken < receives.size()) receives[taken].wqe.skipped = skip;
    return take_receive();
  }
  /// They are those of the queue pair alone, and so the peer is told of them.
  bool counts_receives = false;
  std::optional<std::uint32_t> receives_posted() const override {
    return counts_receives ? std::optional(static_cast<std::uint32_t>(receives.size() - taken))
                           : std::nullopt;
  }
  bool wants_receives() const { return receives_wanted(); }
  /// Memory with on-demand paging is not there.
  bool pages_gone = false;
  bool load(std::byte* to, const std::byte* on_demand, std::size_t size) override {
    return !pages_gone && Host::load(to, on_demand, size);
  }
  bool store(std::byte* on_demand, const std::byte* from, std::size_t size) override {
    return !pages_gone && Host::store(on_demand, from, size);
  }
  std::byte* bounce_buffer(std::size_t size) override {
    if (bounce.size() < size) bounce.resize(size);
    return bounce.data();
  }
  std::optional<std::uint64_t> execute_on_demand(std::byte* word, const AtomicOperation& operation) override {
    if (pages_gone) return std::nullopt;
    return Host::execute_on_demand(word, operation);
  }
  std::vector<std::byte> bounce;

  /// Somebody else is at every word.
  bool words_taken = false;
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                 const AtomicOperation& operation) override {
    if (words_taken) return Unexpected{because(ReasonId::nak_atomic_busy)};
    return Host::execute_atomic(word, operation);
  }

  bool may_go_direct() override { return direct_budget > 0; }
  std::optional<std::uint32_t> direct(const DirectMessage& message) override {
    ++direct_calls;
    if (direct_budget == 0 || message.wqe.op == SendOp::send) return std::nullopt;
    --direct_budget;
    directs.push_back({message.offset, message.psn});
    return std::min(direct_piece, message.wqe.length - message.offset);
  }
  unsigned times_armed = 0, times_migrated = 0;
  PathWindow* other_window = nullptr;  ///< of the alternate path
  void armed() override { ++times_armed; }
  PathWindow* migrated() override {
    ++times_migrated;
    return other_window;
  }
  void complete(const SendDone& done) override { sends.push_back(done); }
  void complete(const RecvDone& done) override { recvs.push_back(done); }
  void event(QpEvent event) override { events.push_back(event); }
  void explain(const Reason& reason, const std::uint64_t*) override { reasons.push_back(reason); }

  bool explained(ReasonId id) const {
    return std::any_of(reasons.begin(), reasons.end(), [id](const Reason& r) { return r.id == id; });
  }

 private:
  Region* find(MemoryKey key, std::uint64_t address, std::uint64_t length) {
    auto it = regions.find(key.value);
    if (it == regions.end()) return nullptr;
    Region& r = it->second;
    const bool inside = address >= r.base && length <= r.length && address - r.base <= r.length - length;
    return inside ? &r : nullptr;
  }
};

}  // namespace softrnic::ib::test
