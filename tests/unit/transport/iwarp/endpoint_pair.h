// Two endpoints and a stream between them that takes and brings as many bytes as a test likes; adapters of
// one QP each, with a region of memory that everything happens in.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/script/fake_host.h"
#include "transport/iwarp/endpoint.h"

namespace softrnic::iwarp::test {

using ib::SendOp;

inline constexpr std::uint64_t kBase = 0x10000;
inline constexpr std::size_t kRegion = 400'000;
inline constexpr MemoryKey kKey{0x11};
inline constexpr std::uint32_t kAll =
    ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;

/// A work request in the making; addresses are offsets in the regions.
struct Post {
  SendOp op = SendOp::send;
  std::uint32_t length = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t immediate = 0;
  bool solicited = false;
  bool fence = false;
  MemoryKey rkey = kKey;
  MemoryKey lkey = kKey;
  std::uint64_t compare = 0;
  std::uint64_t swap_or_add = 0;
  unsigned sges = 1;
};

struct Side {
  ib::test::FakeHost host;
  std::vector<std::byte> memory = std::vector<std::byte>(kRegion);
  Endpoint endpoint{ib::Capacity{64, 4, 64}, host};
  std::uint64_t posted = 0;

  explicit Side(unsigned seed) {
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>(i * 7 + i / 256 + seed);
    host.regions[kKey.value] = {kBase, memory.data(), memory.size(), kAll, false};
  }
  void post(const Post& post) {
    const ib::SendSlot slot = endpoint.reserve();
    ASSERT_NE(slot.wqe, nullptr);
    ib::SendWqe& wqe = *slot.wqe;
    wqe.wr_id = ++posted;
    wqe.op = post.op;
    wqe.signaled = true;
    wqe.solicited = post.solicited;
    wqe.fence = post.fence;
    wqe.length = post.length;
    wqe.immediate = post.immediate;
    wqe.remote_address = kBase + post.to;
    wqe.rkey = post.rkey;
    wqe.compare = post.compare;
    wqe.swap_or_add = post.swap_or_add;
    wqe.sge_count = static_cast<std::uint16_t>(post.sges);
    std::uint32_t done = 0;
    for (unsigned i = 0; i < post.sges; ++i) {
      const std::uint32_t piece = i + 1 == post.sges ? post.length - done : post.length / post.sges;
      slot.sges[i] = {kBase + post.from + done, piece, post.lkey};
      done += piece;
    }
    endpoint.commit();
  }
  void receive(std::uint64_t id, std::uint32_t at, std::uint32_t length) {
    host.post_receive(id,
                      {{kBase + at, length / 3, kKey}, {kBase + at + length / 3, length - length / 3, kKey}});
  }
  Bytes at(std::size_t offset, std::size_t size) const { return Bytes(memory).subspan(offset, size); }
};

inline MpaAgreement agreed(bool crc = false, bool markers = false) {
  MpaAgreement agreement;
  agreement.crc = crc;
  agreement.markers_in = agreement.markers_out = markers;
  agreement.ird = agreement.ord = 4;
  return agreement;
}
inline Attributes default_attributes() {
  Attributes attributes;
  attributes.access = kAll;
  return attributes;
}

struct Pair {
  Side a{1}, b{100};
  TimePoint now{};
  std::size_t piece = 5000;  ///< of the stream that is carried at once
  bool straight = false;     ///< payload is read to its place
  bool stream_broken = false;

  explicit Pair(MpaAgreement initiator = agreed(), bool early = false,
                Attributes attributes = default_attributes()) {
    MpaAgreement responder = initiator;
    responder.sends_rtr = false;
    responder.waits_for_peer = initiator.rtr != 0 ? WaitForPeer::always : WaitForPeer::none;
    std::swap(responder.ird, responder.ord);
    std::swap(responder.markers_in, responder.markers_out);
    a.endpoint.start(attributes, initiator, now, early);
    b.endpoint.start(attributes, responder, now, early);
  }
  static void deliver(Side& to, Bytes bytes, bool straight, TimePoint now) {
    while (!bytes.empty()) {
      const MutableBytes room = straight ? to.endpoint.room() : MutableBytes();
      const std::size_t n = std::min(room.size(), bytes.size());
      if (n > 0) {
        std::copy_n(bytes.begin(), n, room.begin());
        to.endpoint.filled(n, now);
      } else {
        const std::size_t some = straight ? std::min<std::size_t>(bytes.size(), 30) : bytes.size();
        to.endpoint.receive(bytes.first(some), now);
        bytes = bytes.subspan(some);
        continue;
      }
      bytes = bytes.subspan(n);
    }
  }
  /// One attempt to send; how many bytes went.
  std::size_t carry(Side& from, Side& to) {
    std::array<Bytes, 16> out;
    const std::size_t count = from.endpoint.gather(out, now);
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < count; ++i) bytes.insert(bytes.end(), out[i].begin(), out[i].end());
    bytes.resize(std::min(bytes.size(), piece));
    from.endpoint.sent(bytes.size(), now);
    deliver(to, bytes, straight, now);
    return bytes.size();
  }
  /// Carries whatever there is, ends of the streams too.
  void run() {
    for (int idle = 0; idle < 3;) {
      const std::size_t moved = carry(a, b) + carry(b, a);
      if (moved > 0) {
        idle = 0;
        continue;
      }
      ++idle;
      end(a, b);
      end(b, a);
    }
  }
  void end(Side& one, Side& other) {
    if (one.endpoint.wish() == StreamWish::none) return;
    const bool shut = one.endpoint.wish() == StreamWish::shut_down;
    if (shut) one.endpoint.shut_down_done(now);
    other.endpoint.stream_ended(StreamEnd::closed, now);
  }
};

inline ::testing::AssertionResult completed(const Side& side, std::initializer_list<ib::Status> statuses) {
  if (side.host.sends.size() != statuses.size())
    return ::testing::AssertionFailure() << side.host.sends.size() << " completions";
  std::size_t i = 0;
  for (const ib::Status status : statuses) {
    const ib::SendDone& done = side.host.sends[i++];
    if (done.wr_id != i)
      return ::testing::AssertionFailure() << "work request " << done.wr_id << " out of order";
    if (done.status != status)
      return ::testing::AssertionFailure()
             << "work request " << i << " has status " << static_cast<int>(done.status);
  }
  return ::testing::AssertionSuccess();
}

}  // namespace softrnic::iwarp::test
