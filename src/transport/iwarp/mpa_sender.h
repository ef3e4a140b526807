// Makes a byte stream of segments: FPDUs with their pad, CRC and markers (RFC 5044 4).
//
//   gather()  what to write next, as pieces for one sendmsg(): headers of this object, payload where it lies
//   sent()    how many bytes of it the stream has taken; the rest is in the next gather()
//
// Without CRC and markers payload is not copied. With a CRC it is: the program may change its memory at
// any time, as it may let peers read what it is writing, and the bytes that are sent have to be those that
// were counted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/iwarp/segment.h"

namespace softrnic::iwarp {

class MpaSender {
 public:
  struct Options {
    bool crc = false;
    bool markers = false;
  };

  MpaSender(const Options& options, SegmentSource& source);

  /// The longest ULPDU from now on; see wire::max_ulpdu().
  void set_max_ulpdu(std::size_t bytes);
  std::size_t max_ulpdu() const { return max_ulpdu_; }

  /// The least pieces that gather() is to be given room for.
  static constexpr std::size_t kLeastPieces = 4;
  /// Pieces in `out` that are to be written now, good until the next call of gather(), sent() or the
  /// source's owner; how many there are. 0: nothing to send at present, or broken().
  std::size_t gather(std::span<Bytes> out);
  void sent(std::size_t count);

  /// Forgets the segments that have not begun, and takes a copy of what is left of the one that has, so
  /// that nothing asks for the payload of either any more. Then another can follow.
  void detach();

  /// All that was made is written.
  bool idle() const { return head_ == tail_ && detached_.empty(); }
  /// The payload of the next FPDU is not to be had. Still after detach(): it has begun, and the stream can
  /// only be cut.
  bool broken() const { return broken_; }

 private:
  static constexpr std::uint32_t kDepth = 32;
  static constexpr std::size_t kBufferBytes = 160 * 1024;

  struct Pending {
    TxSegment segment;
    std::uint32_t bytes = 0;  ///< of its FPDU in the stream
  };

  bool copies() const { return options_.crc || options_.markers; }
  Pending& at(std::uint32_t index) { return ring_[index % kDepth]; }
  bool make_next();
  std::size_t gather_in_place(std::span<Bytes> out);
  /// Appends the FPDU from byte `skip` on. False: gathering ends here.
  bool add(const Pending& pending, std::size_t skip, std::span<Bytes> out, std::size_t& count);
  void fill_buffer();
  bool copy_fpdu(Pending& pending);
  void put(Bytes bytes);
  void put_marker(std::size_t back);

  Options options_;
  SegmentSource& source_;
  bool broken_ = false;
  std::size_t max_ulpdu_ = 0;
  std::uint32_t head_ = 0, tail_ = 0;  ///< running numbers of what is in the ring
  std::uint32_t front_sent_ = 0;       ///< bytes of its first FPDU
  std::unique_ptr<Pending[]> ring_;
  std::vector<std::byte> detached_;  ///< goes before everything in the ring
  // if copies()
  bool payload_gone_ = false;   ///< of the segment behind what is in the buffer
  std::uint32_t position_ = 0;  ///< of the stream where the buffer ends, modulo 2^32
  std::uint32_t begin_ = 0;     ///< that of the FPDU at hand
  std::size_t buffered_ = 0, buffer_sent_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace softrnic::iwarp
