// What a connected stream has of verbs: completion queue, queue pair, and the registered memory.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "rsocket/armed_queue.h"
#include "rsocket/messages.h"
#include "rsocket/rdma_owners.h"
#include "rsocket/receive_ring.h"
#include "rsocket/result.h"
#include "rsocket/send_window.h"
#include "rsocket/sizes.h"

namespace softrnic::rsocket {

/// One that nobody sleeps on in rdma_get_cm_event.
Result<ChannelPtr> make_channel();

/// Whole pages of zeros that the device knows: a child that forks finds its own beside them.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  Result<void> make(ibv_pd* domain, std::size_t size, bool remote);
  MutableBytes bytes() const { return bytes_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
  std::uint32_t lkey() const { return region_->lkey; }
  std::uint32_t rkey() const { return region_->rkey; }

 private:
  MutableBytes bytes_;
  RegionPtr region_;
};

/// What a work request was, in its wr_id, with the bytes of the send ring that it holds, or the slot of a
/// receive. `part`: the bytes of a message that follows, which counts for both.
enum class Work : std::uint8_t { receive, data, mapping, control, disconnect, part };
constexpr std::uint64_t work_id(Work work, std::uint32_t bytes) {
  return std::uint64_t{static_cast<std::uint8_t>(work)} << 32 | bytes;
}
constexpr Work work_of(std::uint64_t id) { return static_cast<Work>(id >> 32); }

/// Messages are the immediate data of WRITEs. Where there are none (iWARP) a message is a SEND of four bytes
/// behind the WRITE, in the byte order of its sender, as rdma-core's librdmacm has it.
class Endpoint {
 public:
  Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  /// Once, when `id` has a device. `sizes` become those that were given.
  Result<void> make(rdma_cm_id* id, Sizes& sizes);
  bool made() const { return queue_pair_made_; }

  Offer offer() const;
  void meet(const Offer& peer);

  ArmedQueue& completions() { return queue_; }
  const ArmedQueue& completions() const { return queue_; }

  Result<void> post_receives(std::uint32_t count);
  /// What a receive has brought; nothing: no message.
  std::optional<Message> message_in(const ibv_wc& received) const;
  /// Whether a message about segments tells that `row` has been written.
  bool announces(const ibv_wc& received, std::uint32_t row) const;
  /// A message with what stands at `place` of the send ring.
  Result<void> post(Work work, Message message, SendRing::Place place, const Segment& to);
  Result<void> post_write(SendRing::Place place, const Segment& to);
  /// A message without bytes.
  Result<void> post_control(Work work, Message message);
  /// Tells the peer of credits, and of a half that is free.
  Result<void> post_update(const ReceiveRing::Update& update);

  MutableBytes send_bytes() const { return send_.bytes(); }
  /// Copies what is to be sent to `place` of the send ring.
  void put(SendRing::Place place, const void* from) const;
  Bytes receive_bytes() const { return receive_.bytes(); }
  Segment take_segment_row(std::uint32_t row) const;
  /// What the peer has mapped at that offset; nothing: nothing.
  std::optional<Mapping> find_mapping(off_t offset) const;
  const Offer& peer() const { return peer_; }
  ibv_pd* domain() const { return id_->pd; }

 private:
  static constexpr std::uint32_t kWordBytes = 4;  ///< of a message that is a SEND

  Segment segment_row(std::uint32_t row) const;
  Mapping mapping_row(std::uint32_t row) const;
  Result<void> make_queues(Sizes& sizes);
  Result<void> make_memory(const Sizes& sizes);
  ibv_send_wr write_of(std::uint64_t id, std::span<ibv_sge> parts, const Segment& to) const;
  Result<void> post_send(ibv_send_wr& request);
  /// With `message` as its immediate data, or behind it.
  Result<void> post_with(Message message, ibv_send_wr& request);
  Result<void> post_with_send(Message message, ibv_send_wr& request);
  std::span<ibv_sge> gather(std::array<ibv_sge, 2>& parts, SendRing::Place place) const;
  unsigned inline_flag(std::uint32_t bytes) const;
  /// Where in receive_bytes() the word of a message comes.
  std::size_t word_at(std::uint32_t slot) const {
    return sizes_.receive_buffer + std::size_t{slot} * kWordBytes;
  }

  rdma_cm_id* id_ = nullptr;
  ArmedQueue queue_;
  bool queue_pair_made_ = false;
  bool by_sends_ = false;
  std::uint32_t inline_data_ = 0;
  Sizes sizes_;
  Pages send_, receive_, table_;
  Offer peer_;
  std::uint32_t peer_row_ = 0;
  std::uint32_t update_slot_ = 0;
  std::uint32_t receive_slot_ = 0;  ///< of the next receive to post
};

}  // namespace softrnic::rsocket
