// Input: what the connection has agreed upon, then steps: FPDUs made of fields, raw bytes, bytes read
// straight to their place, posts, room in the stream, ends, deregistration and time. The endpoint must
// never touch memory that it was not given, complete anything twice or out of order, send an FPDU that
// cannot be read, or run in circles.
#include <algorithm>

#include "fuzz/fuzz_responder_host.h"
#include "transport/iwarp/endpoint.h"

using namespace softrnic;
using fuzz::FuzzHost;

namespace {

class Driver {
 public:
  Driver(const std::uint8_t* data, std::size_t size) : in_(data, size) {
    const auto knobs = in_.take<std::uint16_t>();
    iwarp::MpaAgreement agreement;
    agreement.crc = (knobs & 1) != 0;
    agreement.markers_in = (knobs & 2) != 0;
    agreement.markers_out = (knobs & 4) != 0;
    agreement.long_fpdus = (knobs & 8) != 0;
    agreement.rtr = static_cast<std::uint8_t>((knobs >> 4) % 4 == 3 ? 4 : (knobs >> 4) % 4);
    agreement.sends_rtr = agreement.rtr != 0 && (knobs & 64) != 0;
    if (agreement.rtr != 0 && !agreement.sends_rtr) agreement.waits_for_peer = iwarp::WaitForPeer::always;
    if (agreement.rtr == 0 && (knobs & 0x800) != 0) agreement.waits_for_peer = iwarp::WaitForPeer::bounded;
    agreement.ird = (knobs >> 7) % 4;
    agreement.ord = (knobs >> 9) % 4;
    iwarp::Attributes attributes;
    attributes.access = 0xf;
    attributes.emss = 100 + in_.take<std::uint16_t>() % 9000;
    host_.post_receive(2000, true);
    endpoint_.start(attributes, agreement, now_, (knobs & 0x8000) != 0);
  }

  void run() {
    for (int steps = 0; steps < 400 && !in_.empty(); ++steps) step();
    endpoint_.flush();
    send(SIZE_MAX);
    FUZZ_CHECK(endpoint_.outstanding_sends() == 0);
    FUZZ_CHECK(!host_.holds_receives());
    host_.be_silent();
    endpoint_.reset();
    FUZZ_CHECK(endpoint_.deadline() == kNever);
  }

 private:
  void step() {
    const auto what = in_.take<std::uint8_t>();
    switch (what % 10) {
      case 0:
      case 1:
      case 2:
        return segment();
      case 3:
        return endpoint_.receive(in_.take_bytes(in_.take<std::uint8_t>()), now_);
      case 4:
        return straight();
      case 5:
        return post();
      case 6:
        return host_.post_receive(in_.take<std::uint16_t>() % FuzzHost::kSize, (what & 16) != 0);
      case 7:
        return send(in_.take<std::uint16_t>());
      case 8:
        return host_.toggle(MemoryKey(0x11U * (1 + in_.take<std::uint8_t>() % 4)));
      default:
        return end_or_time(what / 10);
    }
  }

  void segment() {
    const auto flags = in_.take<std::uint8_t>();
    const auto opcode = in_.take<std::uint8_t>();
    wire::DdpHeader header;
    header.opcode = opcode & 15;
    const wire::RdmapOpcodeInfo* const info = wire::find_rdmap_opcode(header.opcode);
    header.tagged = info != nullptr && info->tagged;
    header.queue = info != nullptr && !info->tagged ? static_cast<std::uint32_t>(info->queue) : opcode >> 4;
    header.last = (flags & 1) == 0;
    header.stag = (flags & 2) == 0 ? FuzzHost::kTarget : FuzzHost::kSink;
    header.offset = FuzzHost::kBase + in_.take<std::uint16_t>();
    header.msn = 1 + in_.take<std::uint8_t>() % 8;
    header.message_offset = (flags & 4) == 0 ? 0 : in_.take<std::uint16_t>();
    header.ulp = (flags & 8) == 0 ? 0x55 : 0x99;
    const std::size_t fixed = info == nullptr ? 0 : info->body;
    std::vector<std::byte> body((flags & 16) == 0 && fixed != 0 ? fixed : in_.take<std::uint16_t>() % 3000);
    const Bytes given = in_.take_bytes(std::min<std::size_t>(body.size(), 52));
    std::copy(given.begin(), given.end(), body.begin());
    deliver(header, body);
  }

  void deliver(const wire::DdpHeader& header, const std::vector<std::byte>& body) {
    std::vector<std::byte> bytes(wire::kFpduHeaderBytes + wire::kMaxDdpBytes);
    const std::size_t head = wire::encode(header, MutableBytes(bytes).subspan(2));
    bytes.resize(wire::fpdu_bytes(head + body.size()));
    store_be16(bytes.data(), static_cast<std::uint16_t>(head + body.size()));
    std::copy(body.begin(), body.end(), bytes.begin() + 2 + static_cast<std::ptrdiff_t>(head));
    bytes.shrink_to_fit();  // so that reading beyond it is an error
    endpoint_.receive(bytes, now_);
  }

  void straight() {
    const MutableBytes room = endpoint_.room();
    const std::size_t size = std::min<std::size_t>(room.size(), in_.take<std::uint16_t>());
    std::fill_n(room.begin(), size, std::byte{7});
    endpoint_.filled(size, now_);
  }

  void post() {
    static constexpr ib::SendOp kOps[] = {ib::SendOp::write,     ib::SendOp::write_with_imm,
                                          ib::SendOp::send,      ib::SendOp::send_with_invalidate,
                                          ib::SendOp::read,      ib::SendOp::compare_swap,
                                          ib::SendOp::fetch_add, ib::SendOp::send_with_imm};
    const auto op = kOps[in_.take<std::uint8_t>() % std::size(kOps)];
    const std::uint32_t length = ib::is_atomic(op) ? 8 : in_.take<std::uint16_t>() % FuzzHost::kSize;
    const ib::SendSlot slot = endpoint_.reserve();
    if (slot.wqe == nullptr) return;
    slot.wqe->wr_id = host_.next_send_id();
    slot.wqe->op = op;
    slot.wqe->signaled = true;
    slot.wqe->length = length;
    slot.wqe->remote_address = FuzzHost::kBase;
    slot.wqe->rkey = FuzzHost::kTarget;
    slot.wqe->sge_count = 1;
    slot.sges[0] = {FuzzHost::kBase, length, ib::is_answered(op) ? FuzzHost::kSink : FuzzHost::kSource};
    endpoint_.commit();
  }

  void send(std::size_t most) {
    for (int turns = 0; most > 0; ++turns) {
      FUZZ_CHECK(turns < 20'000);
      std::array<Bytes, 12> out;
      const std::size_t count = endpoint_.gather(out, now_);
      std::size_t taken = 0;
      for (const Bytes piece : std::span(out).first(count)) {
        const std::size_t n = std::min(most - taken, piece.size());
        for (const std::byte byte : piece.first(n)) touched_ = touched_ ^ std::to_integer<int>(byte);
        taken += n;
      }
      if (taken == 0) return;
      endpoint_.sent(taken, now_);
      most -= taken;
    }
  }

  void end_or_time(unsigned what) {
    now_ += std::chrono::milliseconds(in_.take<std::uint16_t>());
    endpoint_.expire(now_);
    if (endpoint_.wish() == iwarp::StreamWish::shut_down) endpoint_.shut_down_done(now_);
    if (what == 1) endpoint_.close(now_);
    if (what == 2) endpoint_.stream_ended(iwarp::StreamEnd::closed, now_);
    if (what == 3) endpoint_.stream_ended(iwarp::StreamEnd::broken, now_);
  }

  fuzz::Input in_;
  FuzzHost host_;
  TimePoint now_{};
  volatile int touched_ = 0;
  iwarp::Endpoint endpoint_{ib::Capacity{8, 3, 32}, host_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Driver(data, size).run();
  return 0;
}
