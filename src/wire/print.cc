#include "wire/print.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace softrnic::wire {
namespace {

// Text made piece by piece in a fixed buffer; what does not fit is cut off.
class Line {
 public:
  template <typename... Values>
  void add(const char* format, Values... values) {
    const int n = std::snprintf(text_.data() + used_, text_.size() - used_, format, values...);
    if (n > 0) used_ = std::min(used_ + static_cast<std::size_t>(n), text_.size() - 1);
  }
  std::string str() const { return std::string(text_.data(), used_); }

 private:
  std::array<char, 400> text_{};
  std::size_t used_ = 0;
};

void add_extensions(const Packet& packet, Line& line) {
  using U64 = unsigned long long;
  const Headers& h = packet.headers;
  const auto has = [&](HeaderBit bit) { return packet.info->has(bit); };
  if (has(kDeth)) line.add(" qkey=0x%08x src=0x%06x", h.deth.qkey, h.deth.source.value);
  if (has(kXrceth)) line.add(" srq=0x%06x", h.xrc_srqn);
  if (has(kFeth)) line.add(" flush=0x%x", h.flush_selector);
  if (has(kReth)) {
    line.add(" va=0x%llx rkey=0x%x len=%u", static_cast<U64>(h.reth.address), h.reth.key.value,
             h.reth.length);
  }
  if (has(kAtomicEth)) {
    line.add(" va=0x%llx rkey=0x%x swap_or_add=0x%llx compare=0x%llx", static_cast<U64>(h.atomic.address),
             h.atomic.key.value, static_cast<U64>(h.atomic.swap_or_add), static_cast<U64>(h.atomic.compare));
  }
  if (has(kAeth)) line.add(" syndrome=0x%02x msn=%u", h.aeth.syndrome, h.aeth.msn);
  if (has(kAtomicAckEth)) line.add(" original=0x%llx", static_cast<U64>(h.atomic_original));
  if (has(kImmDt)) line.add(" imm=0x%x", h.immediate);
  if (has(kIeth)) line.add(" inv=0x%x", h.invalidate.value);
}

}  // namespace

std::string to_string(const Packet& packet) {
  if (packet.info == nullptr) return "no packet";
  const Bth& bth = packet.headers.bth;
  Line line;
  line.add("%.*s QP=0x%06x PSN=%u", static_cast<int>(packet.info->name.size()), packet.info->name.data(),
           bth.destination.value, bth.psn);
  line.add("%s%s%s%s", bth.ack_request ? " AckReq" : "", bth.solicited ? " SE" : "", bth.fecn ? " FECN" : "",
           bth.becn ? " BECN" : "");
  if (bth.pkey != kDefaultPkey) line.add(" pkey=0x%04x", bth.pkey);
  add_extensions(packet, line);
  line.add(" payload=%zu", packet.payload.size());
  return line.str();
}

}  // namespace softrnic::wire
