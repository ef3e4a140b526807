// What a queue pair adds to a message that goes without packets: the memory of this side.
#include <algorithm>
#include <array>

#include "base/hot_path.h"
#include "rnic/key_table.h"
#include "rnic/limits.h"
#include "rnic/queue_pair.h"

namespace softrnic::rnic {
namespace {

using ib::SendOp;

/// The places of up to `bytes` bytes from `offset` of a message on.
class LocalPlaces {
 public:
  LocalPlaces(const ProtectionDomain& pd, std::uint32_t access) : pd_(pd), access_(access) {}

  /// False: a key does not allow it, it is of on-demand paging, or the elements hold less. As on the
  /// wire, the whole of an element is checked.
  bool find(std::span<const ib::Sge> sges, std::uint64_t offset, std::uint32_t bytes) {
    for (const ib::Sge& sge : sges) {
      if (bytes == 0) break;
      if (offset >= sge.length) {
        offset -= sge.length;
        continue;
      }
      const auto memory = KeyTable::process().local(&pd_, sge.lkey, sge.address, sge.length, access_);
      if (!memory || memory->on_demand) return false;
      const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, sge.length - offset));
      places_[count_++] = {memory->at + offset, size};
      bytes -= size;
      offset = 0;
    }
    return bytes == 0;
  }
  std::span<const iovec> places() const { return {places_.data(), count_}; }

 private:
  const ProtectionDomain& pd_;
  std::uint32_t access_;
  std::array<iovec, limits::kMaxSges> places_;
  std::size_t count_ = 0;
};

}  // namespace

// Keys of no use and elements that are too short take packets: their sender must be told.
SOFTRNIC_HOT_PATH std::optional<std::uint32_t> QueuePair::direct(const ib::DirectMessage& message) {
  const ib::SendWqe& wqe = message.wqe;
  const bool writes = wqe.op == SendOp::write || wqe.op == SendOp::atomic_write;
  if (!writes && wqe.op != SendOp::read && !is_atomic(wqe.op) && wqe.op != SendOp::flush) return std::nullopt;
  if (const ib::PathWindow* const path = window(); path == nullptr || !path->local()) return std::nullopt;
  if (by_packets_) return std::nullopt;
  if (type_ == IBV_QPT_XRC_SEND)
    return std::nullopt;  // the peer's keys go by an SRQ, which its row does not name
  const std::uint32_t length = is_atomic(wqe.op) ? 8 : wqe.length;
  if (length - 1 >= limits::kMaxMessageBytes) [[unlikely]]  // huge when there is none
    return length == 0 ? direct_empty(message) : std::nullopt;
  const std::uint32_t bytes = std::min(length - message.offset, LanePort::kDirectPiece);
  const iovec inline_place{const_cast<std::byte*>(message.inline_data + message.offset), bytes};
  const ProtectionDomain& pd = wqe.by_host ? *receives_.pd() : *pd_;
  LocalPlaces local(pd, writes ? 0 : IBV_ACCESS_LOCAL_WRITE);
  if (!wqe.is_inline && !local.find(message.sges, message.offset, bytes)) return std::nullopt;
  const DirectStep step{
      *this,          wqe,   message.psn,
      message.offset, bytes, wqe.is_inline ? std::span<const iovec>(&inline_place, 1) : local.places()};
  const DirectResult way = lane_.direct(step);
  if (way == DirectResult::none) return std::nullopt;
  count(ib::Counter::direct_bytes, bytes);
  if (way == DirectResult::mapped) count(ib::Counter::direct_mapped_bytes, bytes);
  if (message.offset + bytes == length) count(ib::Counter::direct_messages, 1);
  return is_atomic(wqe.op) ? wqe.length : bytes;
}

// Empty WRITEs and READs, and FLUSHes. They need no memory of this side.
SOFTRNIC_OUT_OF_LINE std::optional<std::uint32_t> QueuePair::direct_empty(const ib::DirectMessage& message) {
  if (!lane_.direct_empty({.qp = *this, .wqe = message.wqe, .psn = message.psn})) return std::nullopt;
  count(ib::Counter::direct_messages, 1);
  return 0;
}

}  // namespace softrnic::rnic
