// DDP's queue 0: SENDs and immediate data go to the receives that are posted (RFC 5040 5.1, RFC 7306 6).
#pragma once

#include "transport/iwarp/segment_taker.h"

namespace softrnic::iwarp {

class ReceiveQueue final : public BodyTaker {
 public:
  explicit ReceiveQueue(Context& context) : context_(context) {}

  Verdict begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                std::size_t payload) override;
  Expected<Place, Verdict> place(std::size_t offset, std::size_t most) override;
  Verdict end() override;

  /// The message that tells that the initiator is ready, if that is a SEND: it takes no receive.
  Verdict take_ready(const wire::DdpHeader& header);
  /// The message before the next one was a WRITE of so many bytes, which immediate data may belong to.
  void write_ended(std::uint64_t bytes) { written_ = bytes; }

  /// A receive is there for the segment that is due, or for its message.
  bool has_receive();
  /// In the middle of a message.
  bool active() const { return active_; }
  /// Ends the receive that is in use, if there is one.
  void fail_receive(ib::Status status, const Reason& reason);
  void reset();

 private:
  Verdict begin_send(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info, std::size_t payload);
  Verdict take_receive();
  Verdict end_send();
  void complete(ib::RecvDone done, std::uint64_t bytes);

  Context& context_;
  std::uint32_t due_ = 1;  ///< MSN
  const ib::RecvWqe* receive_ = nullptr;
  const wire::RdmapOpcodeInfo* info_ = nullptr;  ///< of the segment, or of the message in the middle
  bool active_ = false;
  bool last_ = false;
  std::uint32_t invalidate_ = 0;
  std::uint32_t received_ = 0;  ///< bytes of the message
  std::uint32_t payload_ = 0;   ///< of the segment
  std::uint64_t written_ = 0;
};

}  // namespace softrnic::iwarp
