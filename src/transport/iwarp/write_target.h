// WRITEs of the peer go where their STag and tagged offset say (RFC 5040 5.3, RFC 5041 5.3).
#pragma once

#include "transport/iwarp/segment_taker.h"

namespace softrnic::iwarp {

class ReceiveQueue;

class WriteTarget final : public SegmentTaker {
 public:
  WriteTarget(Context& context, ReceiveQueue& receives) : context_(context), receives_(receives) {}

  Verdict begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                std::size_t payload) override;
  Expected<Place, Verdict> place(std::size_t offset, std::size_t most) override;
  Verdict end() override;

  bool active() const { return active_; }
  void reset() {
    active_ = false;
    bytes_ = 0;
  }

 private:
  Context& context_;
  ReceiveQueue& receives_;
  wire::DdpHeader header_;
  std::size_t payload_ = 0;
  std::uint64_t bytes_ = 0;  ///< of the message
  bool active_ = false;      ///< in the middle of a message
};

}  // namespace softrnic::iwarp
