// Segments of the peer: checks their headers (RFC 5041 5, RFC 5040 4.1), finds who takes their payload,
// and stops at the first that is wrong.
#pragma once

#include <optional>

#include "transport/iwarp/answers.h"
#include "transport/iwarp/receive_queue.h"
#include "transport/iwarp/request_queue.h"
#include "transport/iwarp/write_target.h"

namespace softrnic::iwarp {

/// The Terminate message of the peer (RFC 5040 4.8).
class TerminateTaker final : public SegmentTaker {
 public:
  Verdict begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                std::size_t payload) override;
  Expected<Place, Verdict> place(std::size_t offset, std::size_t most) override;
  Verdict end() override {
    message_ = wire::parse_terminate(Bytes(bytes_).first(payload_));
    return {};
  }
  const std::optional<wire::Terminate>& message() const { return message_; }
  void reset() { message_.reset(); }

 private:
  std::size_t payload_ = 0;
  std::optional<wire::Terminate> message_;
  std::array<std::byte, wire::kMaxTerminateBytes> bytes_;
  std::array<std::byte, 64> rest_;  ///< what says nothing
};

class Inbound final : public SegmentSink {
 public:
  Inbound(Context& context, Requester& requester, RequestQueue& requests)
      : context_(context), requests_(requests), answers_(context, requester) {}

  bool begin_segment(Bytes header, std::size_t payload) override;
  /// A receive may be posted for it. Once the endpoint waits no more, that is not waited for.
  bool may_begin_later() const override { return lacks_receive_; }
  void set_patient(bool patient) { patient_ = patient; }
  MutableBytes place(std::size_t offset, std::size_t most) override;
  bool placed(std::size_t offset, std::size_t size) override;
  bool end_segment() override;
  void stream_fault(StreamFault fault, const Reason& reason) override { fail({fault_of(fault), reason}); }

  /// What is wrong, and the segment that is; nothing: all is well.
  const std::optional<Verdict>& failure() const { return failure_; }
  Bytes segment() const { return Bytes(segment_).first(segment_have_); }  ///< its headers
  std::size_t segment_bytes() const { return segment_bytes_; }            ///< its length
  const wire::RdmapOpcodeInfo* opcode() const { return info_; }           ///< nullptr: not known

  const std::optional<wire::Terminate>& terminated() const { return terminate_.message(); }
  /// A segment has come and was right.
  bool heard() const { return heard_; }
  /// In the middle of a message.
  bool in_message() const { return receives_.active() || writes_.active() || answers_.active(); }
  ReceiveQueue& receives() { return receives_; }
  void reset();

 private:
  SegmentTaker* taker_of(wire::RdmapOperation operation);
  Verdict check(const wire::DdpHeader& header);
  Verdict begin(const wire::DdpHeader& header, std::size_t payload);
  Verdict begin_empty();
  Verdict check_right() const;
  bool ready_due() const;
  bool fail(const Verdict& verdict);
  Fault gone() const;

  Context& context_;
  RequestQueue& requests_;
  ReceiveQueue receives_{context_};
  WriteTarget writes_{context_, receives_};
  Answers answers_;
  TerminateTaker terminate_;
  const wire::RdmapOpcodeInfo* info_ = nullptr;
  SegmentTaker* taker_ = nullptr;  ///< nullptr: the segment is only a sign that the peer is ready
  bool heard_ = false;
  bool patient_ = true;
  bool lacks_receive_ = false;
  ib::HostMemory on_demand_;  ///< what was written elsewhere is for; nullptr: nothing was
  std::byte* elsewhere_ = nullptr;
  std::optional<Verdict> failure_;
  std::size_t segment_have_ = 0, segment_bytes_ = 0;
  std::array<std::byte, wire::kMaxDdpBytes + wire::kMaxRdmapBodyBytes> segment_;
};

}  // namespace softrnic::iwarp
