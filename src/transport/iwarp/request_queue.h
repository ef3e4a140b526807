// DDP's queue 1, and what leaves for it: READs and atomics of the peer, and their answers in the order in
// which they came (RFC 5040 5.2, RFC 7306 5).
#pragma once

#include <optional>
#include <vector>

#include "transport/iwarp/segment_taker.h"

namespace softrnic::iwarp {

class RequestQueue final : public BodyTaker {
 public:
  explicit RequestQueue(Context& context) : context_(context) {}

  /// Before the first request: makes room for as many as agreed upon.
  void start();

  Verdict begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                std::size_t payload) override;
  Verdict end() override;
  /// The request that has come is a READ of no bytes.
  bool asks_for_nothing() const;

  /// The next segment of an answer. False: there is none, or refusal() tells why it cannot be made.
  bool next_segment(TxSegment& out, std::size_t max_ulpdu);
  std::optional<SegmentSource::Pieces> payload(const TxSegment& segment, std::size_t from,
                                               std::span<Bytes> out);
  void segment_sent(const TxSegment& segment);
  bool in_message() const { return offset_ > 0; }
  bool empty() const { return head_ == tail_; }

  /// A READ whose memory the peer may not read any more, with the headers by which it asked for it.
  struct Refusal {
    Verdict verdict;
    std::array<std::byte, wire::kMaxDdpBytes + wire::kReadRequestBytes> headers;
  };
  const std::optional<Refusal>& refusal() const { return refusal_; }
  void reset();

 private:
  struct Answer {
    bool atomic = false;
    std::uint32_t msn = 0;  ///< of the request
    wire::ReadRequest read;
    wire::AtomicResponse response;
  };

  Answer& at(std::uint32_t index) { return ring_[index % ring_.size()]; }
  Verdict take_read(const wire::ReadRequest& read);
  Verdict take_atomic(const wire::AtomicRequest& request);
  Expected<std::uint64_t, Verdict> execute(const wire::AtomicRequest& request);
  bool make_atomic(TxSegment& out, const Answer& answer);
  bool make_read(TxSegment& out, const Answer& answer, std::size_t max_ulpdu);
  void refuse(const Reason& reason, const Answer& answer);

  Context& context_;
  const wire::RdmapOpcodeInfo* info_ = nullptr;
  std::uint32_t due_ = 1;           ///< MSN
  std::uint32_t response_msn_ = 1;  ///< of queue 3
  std::uint32_t limit_ = 0;
  std::vector<Answer> ring_;
  std::uint32_t head_ = 0, made_ = 0, tail_ = 0;  ///< running numbers: oldest, next to be made, next to come
  std::uint32_t offset_ = 0;                      ///< bytes of `made_` that have been made
  std::optional<Refusal> refusal_;
};

}  // namespace softrnic::iwarp
