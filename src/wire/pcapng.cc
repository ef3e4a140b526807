#include "wire/pcapng.h"

#include <algorithm>

namespace softrnic::wire {
namespace {

constexpr std::uint32_t kSectionBlock = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kPacketBlock = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;

constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionComment = 1;
constexpr std::uint16_t kOptionPacketFlags = 2;
constexpr std::uint16_t kOptionInterfaceName = 2;
constexpr std::uint16_t kOptionApplication = 4;
constexpr std::uint16_t kOptionTimeResolution = 9;

constexpr std::size_t kMaxOption = 0xffff;

// One block: type and length are written around what is put in. Values are in the byte order of the section,
// ours.
class Block {
 public:
  Block(CaptureBuffer& out, std::uint32_t type) : out_(out), start_(out.size()) {
    put(type);
    put(std::uint32_t{0});
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + sizeof(std::uint32_t));
    std::memcpy(out_.data() + start_ + sizeof(std::uint32_t), &length, sizeof length);
    put(length);
  }

  template <typename Integer>
  void put(Integer value) {
    put(Bytes(reinterpret_cast<const std::byte*>(&value), sizeof value));
  }
  void put(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void align() { out_.resize(out_.size() + (4 - (out_.size() - start_) % 4) % 4); }

  void option(std::uint16_t code, Bytes value) {
    value = value.first(std::min(value.size(), kMaxOption));
    put(code);
    put(static_cast<std::uint16_t>(value.size()));
    put(value);
    align();
  }
  void option(std::uint16_t code, std::string_view text) {
    option(code, Bytes(reinterpret_cast<const std::byte*>(text.data()), text.size()));
  }
  void end_options() { option(kOptionEnd, Bytes()); }

 private:
  CaptureBuffer& out_;
  std::size_t start_;
};

}  // namespace

void append_section(CaptureBuffer& out, std::string_view application) {
  Block block(out, kSectionBlock);
  block.put(kByteOrderMagic);
  block.put(std::uint16_t{1});  // version 1.0
  block.put(std::uint16_t{0});
  block.put(~std::uint64_t{0});  // length of the section: not known
  block.option(kOptionApplication, application);
  block.end_options();
}

void append_interface(CaptureBuffer& out, std::string_view name, LinkType type) {
  Block block(out, kInterfaceBlock);
  block.put(static_cast<std::uint16_t>(type));
  block.put(std::uint16_t{0});
  block.put(std::uint32_t{0});  // no limit
  block.option(kOptionInterfaceName, name);
  constexpr std::byte kNanoseconds{9};  // 10^-9
  block.option(kOptionTimeResolution, Bytes(&kNanoseconds, 1));
  block.end_options();
}

void append_packet(CaptureBuffer& out, const CaptureRecord& record, std::span<const Bytes> pieces) {
  std::size_t size = 0;
  for (Bytes piece : pieces) size += piece.size();
  Block block(out, kPacketBlock);
  block.put(record.interface);
  block.put(static_cast<std::uint32_t>(record.time_ns >> 32));
  block.put(static_cast<std::uint32_t>(record.time_ns));
  block.put(static_cast<std::uint32_t>(size));  // captured
  block.put(static_cast<std::uint32_t>(size));  // on the wire
  for (Bytes piece : pieces) block.put(piece);
  block.align();
  const auto flags = static_cast<std::uint32_t>(record.direction);
  if (flags != 0)
    block.option(kOptionPacketFlags, Bytes(reinterpret_cast<const std::byte*>(&flags), sizeof flags));
  if (!record.comment.empty()) block.option(kOptionComment, record.comment);
  if (flags != 0 || !record.comment.empty()) block.end_options();
}

}  // namespace softrnic::wire
