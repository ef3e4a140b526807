// Finds FPDUs in a byte stream that comes in any pieces (RFC 5044 4, 5): takes out markers, checks CRCs,
// and hands their segments to a SegmentSink.
//
// Payload can go straight to its place: room() tells where the next bytes of the stream belong, and
// filled() that they were read to there. Whatever comes otherwise goes through receive(), which copies.
//
// With CRCs nothing damaged is to reach anybody's memory, and a header may be damaged as well as payload.
// So a segment is handed on only after all of its FPDU has come, unless `early` allows otherwise: then
// only an FPDU that is whole in one call of receive() is checked before.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/iwarp/segment.h"

namespace softrnic::iwarp {

class MpaReceiver {
 public:
  struct Options {
    bool crc = false;
    bool markers = false;
    bool early = false;  ///< with CRCs: payload is placed before they are checked
  };

  MpaReceiver(const Options& options, SegmentSink& sink);

  /// Takes all of `bytes`, unless it waits then. False: the sink wants no more, or there was a fault; further
  /// bytes are ignored.
  bool receive(Bytes bytes);
  /// The sink lets a segment begin later only: receive() is to be called again with rest(), what it did not
  /// take of its bytes, and what comes behind them.
  bool waits() const { return waits_; }
  Bytes rest() const { return rest_; }
  /// Where the next bytes of the stream go, as far as it is known and in one piece; empty: through
  /// receive().
  MutableBytes room();
  /// The first `count` bytes of what room() said last have come; nothing was called in between.
  bool filled(std::size_t count);
  /// No FPDU has begun that has not ended.
  bool between_fpdus() const { return part_ == Part::length && have_ == 0 && marker_have_ == 0; }
  bool stopped() const { return stopped_; }

 private:
  enum class Part : std::uint8_t { length, header, payload, trailer };

  bool holds() const { return options_.crc && !options_.early; }
  std::size_t take_whole(Bytes bytes);
  Bytes take_marker(Bytes bytes);
  void take_part(Bytes piece);
  void take_payload(Bytes piece);
  void part_done();
  bool begin_header();
  bool begin_payload();
  void end_fpdu();
  bool begin_segment(Bytes header, std::size_t payload);
  bool hand_over(Bytes header, Bytes payload);
  bool check_crc(std::uint32_t state, Bytes trailer);
  void fault(StreamFault fault, const Reason& reason);
  std::size_t due() const;
  std::size_t until_marker() const;
  void cover(Bytes bytes);

  Options options_;
  SegmentSink& sink_;
  Part part_ = Part::length;
  bool stopped_ = false;
  bool waits_ = false;
  std::uint8_t marker_have_ = 0;
  std::uint16_t ulpdu_ = 0;
  std::uint16_t header_bytes_ = 0;
  std::uint32_t have_ = 0;      ///< bytes of the part
  std::uint32_t crc_ = 0;       ///< register
  std::uint32_t position_ = 0;  ///< of the stream; with markers, modulo 2^32
  std::uint32_t begin_ = 0;     ///< that of the FPDU
  MutableBytes room_;
  Bytes rest_;
  std::array<std::byte, wire::kFpduHeaderBytes + wire::kMaxDdpBytes> head_;
  std::array<std::byte, 3 + wire::kFpduCrcBytes> trailer_;
  std::array<std::byte, wire::kMarkerBytes> marker_;
  std::unique_ptr<std::byte[]> held_;  ///< payload of the FPDU; if holds()
};

}  // namespace softrnic::iwarp
