// Input: a byte that says which lengths are put right, and a frame of an InfiniBand link, LRH to VCRC.
// Whatever it is, its CRCs can be asked for, as a switch and a capture do. What parses has to be encoded to
// the same bytes and to print; what is encoded has right CRCs, and keeps them when a switch changes its VL.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "fuzz/check.h"
#include "wire/flow_control_packet.h"
#include "wire/infiniband_frame.h"

using namespace softrnic;
using namespace softrnic::wire;

namespace {

using Image = std::vector<std::byte>;

constexpr unsigned kRightLink = 1, kRightGlobal = 2, kRightVcrc = 4;

// As the lengths depend on each other, hardly any mutation of a frame would get past them.
void put_right(Image& frame, unsigned what) {
  if (frame.size() < kLrhBytes + kVcrcBytes) return;
  if ((what & kRightLink) != 0) {
    frame.resize((frame.size() - kVcrcBytes) / 4 * 4 + kVcrcBytes);
    const auto lrh = std::span(frame).first<kLrhBytes>();
    LinkHeader header = decode_link_header(lrh);
    header.packet_length = static_cast<std::uint16_t>((frame.size() - kVcrcBytes) / 4);
    encode_link_header(header, lrh);
  }
  constexpr std::size_t kGlobal = kLrhBytes + kGrhBytes;
  if ((what & kRightGlobal) != 0 && frame.size() >= kGlobal + kVcrcBytes) {
    const auto grh = std::span(frame).subspan<kLrhBytes, kGrhBytes>();
    Grh header = decode_grh(grh);
    header.payload_length = static_cast<std::uint16_t>(frame.size() - kVcrcBytes - kGlobal);
    encode_grh(header, grh);
  }
  if ((what & kRightVcrc) != 0) renew_vcrc(frame);
}

void check_vl_change(Image frame) {
  const std::size_t covered = frame.size() - kVcrcBytes;
  const auto lrh = std::span(frame).first<kLrhBytes>();
  const auto from = decode_link_header(lrh).vl;
  const auto to = static_cast<std::uint8_t>(from ^ 9);
  const std::uint16_t vcrc = vcrc_after_vl_change(load_vcrc(&frame[covered]), from, to, covered);
  set_vl(lrh, to);
  FUZZ_CHECK(decode_link_header(lrh).vl == to && vcrc == vcrc_of(Bytes(frame).first(covered)));
  store_vcrc(&frame[covered], vcrc);
  FUZZ_CHECK(has_right_vcrc(frame) && parse_infiniband_frame(frame).has_value());
}

void check_encoding(Bytes bytes, const InfinibandFrame& frame) {
  const Packet& packet = frame.packet;
  const std::size_t payload = packet.payload.size();
  FUZZ_CHECK(infiniband_frame_bytes(frame.route, packet.headers.bth.opcode, payload) == bytes.size());
  const Bytes whole[] = {packet.payload};
  Image again(bytes.size());
  FUZZ_CHECK(encode_infiniband_frame(frame.route, packet.headers, whole, again) == bytes.size());
  FUZZ_CHECK(has_right_icrc(again) && has_right_vcrc(again));
  const auto pad = static_cast<std::ptrdiff_t>(frame.icrc_at - packet.headers.bth.pad);
  FUZZ_CHECK(std::equal(bytes.begin(), bytes.begin() + pad, again.begin()));
  // Behind that there is a pad, which a sender may fill with anything, and CRCs.
  if (std::equal(bytes.begin() + pad, bytes.begin() + static_cast<std::ptrdiff_t>(frame.icrc_at),
                 again.begin() + pad)) {
    const bool is_same = std::ranges::equal(bytes.first(frame.vcrc_at), Bytes(again).first(frame.vcrc_at));
    FUZZ_CHECK(has_right_icrc(bytes) == is_same);
    FUZZ_CHECK(!is_same || has_right_vcrc(bytes) == std::ranges::equal(bytes, again));
  }
  check_vl_change(std::move(again));
}

void check_frame(Bytes bytes) {
  const bool icrc = has_right_icrc(bytes);
  const bool vcrc = has_right_vcrc(bytes);
  const auto frame = parse_infiniband_frame(bytes);
  if (!frame) {
    FUZZ_CHECK(!name_of(frame.error()).empty());
    return;
  }
  FUZZ_CHECK(frame->vcrc_at + kVcrcBytes == bytes.size() && frame->icrc_at + kIcrcBytes == frame->vcrc_at);
  FUZZ_CHECK(frame->packet.payload.data() >= bytes.data() + kLrhBytes + kBthBytes);
  FUZZ_CHECK(frame->packet.payload.data() + frame->packet.payload.size() + frame->packet.headers.bth.pad ==
             bytes.data() + frame->icrc_at);
  const std::string line = to_string(*frame);
  FUZZ_CHECK(!line.empty() && line.find('\n') == std::string::npos);
  check_encoding(bytes, *frame);

  // Any bit that is changed is noticed.
  Image damaged(bytes.begin(), bytes.end());
  damaged[frame->icrc_at] ^= std::byte{1};
  FUZZ_CHECK(!icrc || !has_right_icrc(damaged));
  FUZZ_CHECK(!vcrc || !has_right_vcrc(damaged));
}

void check_flow_control(Bytes bytes) {
  const auto packet = parse_flow_control_packet(bytes);
  if (!packet) {
    FUZZ_CHECK(!name_of(packet.error()).empty());
    return;
  }
  std::array<std::byte, kFlowControlPacketBytes> again;
  encode_flow_control_packet(*packet, again);
  FUZZ_CHECK(std::ranges::equal(again, bytes) && !to_string(*packet).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const unsigned right = in.take<std::uint8_t>();
  Image bytes(in.rest().begin(), in.rest().end());
  check_flow_control(in.rest());
  put_right(bytes, right);
  check_frame(bytes);
  return 0;
}
