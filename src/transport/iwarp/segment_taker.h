// Who takes the segments of some messages: one for each kind of buffer that DDP knows.
#pragma once

#include <algorithm>
#include <array>

#include "transport/iwarp/context.h"
#include "transport/iwarp/faults.h"
#include "wire/ddp.h"

namespace softrnic::iwarp {

/// Memory that payload goes to.
struct Place {
  ib::HostMemory memory;
  std::size_t size = 0;
};

class SegmentTaker {
 public:
  /// A segment of `payload` bytes begins.
  virtual Verdict begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                        std::size_t payload) = 0;
  /// Where its bytes from `offset` on go: at least one, at most `most`.
  virtual Expected<Place, Verdict> place(std::size_t offset, std::size_t most) = 0;
  /// All of it has come and is right.
  virtual Verdict end() = 0;
  /// What has come of a header behind that of DDP; empty: there is none.
  virtual Bytes body() const { return {}; }

 protected:
  ~SegmentTaker() = default;
};

/// A header of fixed length that is all of its message's payload.
class BodyTaker : public SegmentTaker {
 public:
  Expected<Place, Verdict> place(std::size_t offset, std::size_t most) override {
    return Place{{&body_[offset]}, std::min(most, body_.size() - offset)};
  }
  Bytes body() const override { return Bytes(body_).first(body_bytes_); }

 protected:
  ~BodyTaker() = default;
  /// Whether the message is one segment with that header, and the next of its queue, whose number is `due`.
  Verdict check_body(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info, std::size_t payload,
                     std::uint32_t due);
  /// A segment of another kind begins, which has none.
  void no_body() { body_bytes_ = 0; }

 private:
  std::size_t body_bytes_ = 0;
  std::array<std::byte, wire::kMaxRdmapBodyBytes> body_{};
};

/// Whether a segment is for the queue and of the message that are due (RFC 5041 5.2).
Verdict check_sequence(const wire::DdpHeader& header, std::uint32_t due);

/// Where message bytes from `offset` on go in a scatter list. Error: why a key does not allow it.
Expected<Place, Reason> place_in(ib::Host& host, ib::LocalUse use, std::span<const ib::Sge> sges,
                                 std::uint64_t offset, std::size_t most);

}  // namespace softrnic::iwarp
