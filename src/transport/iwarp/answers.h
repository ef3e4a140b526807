// READ responses and atomic responses go where the work request that waits for them says (RFC 5040 5.2,
// RFC 7306 5).
#pragma once

#include "transport/iwarp/requester.h"

namespace softrnic::iwarp {

class Answers final : public BodyTaker {
 public:
  Answers(Context& context, Requester& requester) : context_(context), requester_(requester) {}

  Verdict begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                std::size_t payload) override;
  Expected<Place, Verdict> place(std::size_t offset, std::size_t most) override;
  Verdict end() override;

  /// In the middle of a READ response.
  bool active() const { return received_ > 0; }
  void reset() {
    received_ = 0;
    due_ = 1;
  }

 private:
  Verdict begin_read(const wire::DdpHeader& header, std::size_t payload);
  Verdict begin_ready(const wire::DdpHeader& header, std::size_t payload);
  Verdict end_atomic();
  Verdict finish();

  Context& context_;
  Requester& requester_;
  bool atomic_ = false;
  bool ready_ = false;  ///< the segment answers the READ that told that this side is ready
  bool last_ = false;
  std::size_t payload_ = 0;     ///< of the segment
  std::uint32_t received_ = 0;  ///< bytes of the READ response
  std::uint32_t due_ = 1;       ///< MSN of queue 3
  Requester::Index index_ = 0;  ///< the work request
};

}  // namespace softrnic::iwarp
