// Input: QP type and whether messages are looked at, path MTU and a state to be driven into; then steps:
// packets (made from fields, raw, or answers to what the endpoint sent, each for itself or standing for
// several, put together by a link or not, its payload with it or elsewhere), posts, time, state changes and
// deregistration. The endpoint must never touch memory it was not given, complete anything twice or out of
// order, send a malformed packet, or run in circles.
#include <algorithm>

#include "fuzz/fuzz_responder_host.h"
#include "transport/ib/rx_packet.h"
#include "wire/headers.h"

using namespace softrnic;
using fuzz::FuzzHost;
using fuzz::Rendezvous;
using wire::Opcode;

namespace {

constexpr std::uint32_t kPsn = 0xfffff0;  // near the wrap
constexpr Qpn kLocal(0x010203), kRemote(0x040506);

enum class Start : std::uint8_t {
  reset,
  rtr,
  rts,
  mid_message,
  reads_out,
  waiting_rnr,
  drained,
  error,
  count_
};

class Driver {
 public:
  Driver(const std::uint8_t* data, std::size_t size) : in_(data, size) {
    const auto kind = in_.take<std::uint8_t>();
    type_ = static_cast<ib::QpType>(kind % 5);
    if (kind / 5 % 2 != 0) host_.look();
    attributes_.path_mtu = 256U << (in_.take<std::uint8_t>() % 5);
    attributes_.local = kLocal;
    attributes_.remote = kRemote;
    attributes_.path.source = wire::Gid::from_ipv4_be(0x0100000a);
    attributes_.path.destination = wire::Gid::from_ipv4_be(0x0200000a);
    attributes_.send_psn = attributes_.receive_psn = kPsn;
    const auto knobs = in_.take<std::uint8_t>();
    attributes_.access = (knobs & 1) != 0 ? 0xe : 0xfU & ~(1U << (1 + knobs / 2 % 3));
    attributes_.access |= ib::kFlushGlobal;
    attributes_.max_reads_in = knobs / 8 % 4;
    attributes_.max_reads_out = 3;
    attributes_.timeout = knobs / 32 % 2 == 0 ? 10 : 0;
    attributes_.retry_count = attributes_.rnr_retry = knobs / 64;
    attributes_.qkey = 7;
    endpoint_ = ib::make_endpoint(type_, kLocal, ib::Capacity{8, 3, 32}, host_);
    endpoint_->set_window(&window_);
    drive_to(static_cast<Start>(in_.take<std::uint8_t>() % static_cast<unsigned>(Start::count_)));
  }

  void run() {
    for (int steps = 0; steps < 400 && !in_.empty(); ++steps) step();
    endpoint_->flush();
    send_all();
    FUZZ_CHECK(endpoint_->outstanding_sends() == 0);
    FUZZ_CHECK(!host_.holds_receives());
    host_.be_silent();
    endpoint_->reset();
    FUZZ_CHECK(window_.in_flight() == 0);
    FUZZ_CHECK(endpoint_->deadline() == kNever);
  }

 private:
  void drive_to(Start start) {
    host_.post_receive(2000, true);
    if (start == Start::reset) return;
    endpoint_->start_responder(attributes_);
    if (start == Start::rtr) return;
    endpoint_->start_requester(attributes_);
    started_ = true;
    if (start == Start::mid_message) {
      wire::Headers first =
          base(is_reliable() ? of_service(Opcode::rc_send_first) : Opcode::uc_send_first, 0);
      deliver(first, std::vector<std::byte>(attributes_.path_mtu));
    }
    if (start == Start::reads_out || start == Start::waiting_rnr) {
      for (int i = 0; i < 3; ++i)
        post(start == Start::reads_out ? ib::SendOp::read : ib::SendOp::send, 600, false);
      send_all();
    }
    if (start == Start::waiting_rnr && is_reliable()) {
      wire::Headers nak = base(of_service(Opcode::rc_acknowledge), 0);
      nak.aeth.syndrome = wire::kRnrNak | 5;
      deliver(nak, {});
    }
    if (start == Start::drained) endpoint_->drain();
    if (start == Start::error) endpoint_->flush();
    flushed_ = start == Start::error;
  }

  bool is_xrc() const { return type_ > ib::QpType::ud; }
  bool is_reliable() const { return type_ == ib::QpType::rc || is_xrc(); }
  Opcode of_service(Opcode rc) const {
    return is_xrc() ? static_cast<Opcode>(static_cast<unsigned>(rc) + 0xa0) : rc;
  }

  void step() {
    const auto what = in_.take<std::uint8_t>();
    switch (what % 12) {
      case 0:
      case 1:
      case 2:
        request_packet();
        break;
      case 3:
      case 4:
        answer_packet();
        break;
      case 5:
        raw_packet();
        break;
      case 6:
        post_something();
        break;
      case 7:
        host_.post_receive(in_.take<std::uint16_t>() % FuzzHost::kSize, (what & 16) != 0);
        break;
      case 8:
        pass_time();
        break;
      case 9:
        command();
        break;
      case 10:
        host_.toggle(MemoryKey(0x11U * (1 + in_.take<std::uint8_t>() % 4)));
        break;
      default:
        change_path();
        break;
    }
    if ((what & 128) == 0) send_all();
    FUZZ_CHECK(endpoint_->broken_invariant() == nullptr);
  }

  wire::Headers base(Opcode opcode, std::int32_t psn_offset) const {
    wire::Headers h;
    h.bth.opcode = opcode;
    h.bth.destination = kLocal;
    const wire::OpcodeInfo* info = wire::find_opcode(static_cast<std::uint8_t>(opcode));
    const bool request = info == nullptr || info->request;
    const std::uint32_t near = request ? endpoint_->receive_psn() : oldest_unanswered_;
    h.bth.psn = (near + static_cast<std::uint32_t>(psn_offset)) & wire::kPsnMask;
    h.deth.qkey = attributes_.qkey;
    h.deth.source = kRemote;
    return h;
  }

  void fill_fields(wire::Headers& h) {
    const auto flags = in_.take<std::uint8_t>();
    h.bth.ack_request = (flags & 1) != 0;
    h.bth.solicited = (flags & 2) != 0;
    h.reth.key = h.atomic.key = h.invalidate = MemoryKey((flags & 4) == 0   ? 0x11
                                                         : (flags & 8) == 0 ? 0x55
                                                                            : 0x99);
    h.reth.address = h.atomic.address = FuzzHost::kBase + in_.take<std::uint16_t>();
    h.reth.length = (flags & 16) == 0 ? in_.take<std::uint16_t>() : in_.take<std::uint32_t>();
    h.immediate = h.reth.length;
    h.atomic.swap_or_add = h.atomic.compare = h.flush_selector = flags;
    if ((flags & 32) != 0) h.deth.qkey = 8;
    if ((flags & 64) != 0) h.bth.pkey = 0x1234;
    h.xrc_srqn = 1 + flags / 128 * (1 + flags % 2);
    h.aeth.syndrome = in_.take<std::uint8_t>();
    h.aeth.msn = flags;
  }

  void request_packet() {
    static constexpr std::uint8_t kService[] = {0x00, 0x20, 0x64, 0xa0, 0xa0};
    const std::uint8_t service = kService[static_cast<int>(type_)];
    const bool placement = type_ == ib::QpType::rc;  // FLUSH and ATOMIC WRITE come behind a gap
    unsigned number = in_.take<std::uint8_t>() % (type_ == ib::QpType::ud ? 2U : placement ? 0x1aU : 0x18U);
    if (number >= 0x18) number += static_cast<unsigned>(Opcode::rc_flush) - 0x18;
    wire::Headers h = base(static_cast<Opcode>(service + number), in_.take<std::int8_t>() / 16);
    fill_fields(h);
    deliver_sized(h);
  }

  /// Something that answers the oldest request sent, more or less.
  void answer_packet() {
    static constexpr Opcode kAnswers[] = {Opcode::rc_acknowledge,          Opcode::rc_read_response_first,
                                          Opcode::rc_read_response_middle, Opcode::rc_read_response_last,
                                          Opcode::rc_read_response_only,   Opcode::rc_atomic_acknowledge};
    wire::Headers h = base(of_service(kAnswers[in_.take<std::uint8_t>() % 6]), in_.take<std::int8_t>() / 16);
    fill_fields(h);
    if (h.bth.opcode == of_service(Opcode::rc_acknowledge) && h.bth.solicited)
      h.aeth.syndrome = wire::kAckUnlimitedCredits;
    deliver_sized(h);
  }

  void deliver_sized(const wire::Headers& h) {
    const wire::OpcodeInfo* info = wire::find_opcode(static_cast<std::uint8_t>(h.bth.opcode));
    const auto request = in_.take<std::uint16_t>();
    std::size_t size = request % (attributes_.path_mtu + 5);
    if (info != nullptr && info->payload == wire::PayloadRule::none && request % 8 != 0) size = 0;
    if (info != nullptr && info->payload == wire::PayloadRule::exactly_mtu && request % 8 != 0)
      size = attributes_.path_mtu;
    if (info != nullptr && info->position == wire::Position::only && request % 8 == 1)
      size = std::min<std::size_t>(h.reth.length, attributes_.path_mtu);
    deliver(h, std::vector<std::byte>(size));
  }

  void raw_packet() {
    const Bytes bytes = in_.take_bytes(in_.take<std::uint8_t>());
    if (auto packet = wire::parse(bytes)) receive(*packet);
  }

  void deliver(wire::Headers h, const std::vector<std::byte>& payload) {
    std::vector<std::byte> bytes(wire::kMaxHeaderBytes + payload.size() + 3);
    h.bth.pad = wire::pad_for(payload.size());
    const std::size_t header_bytes = wire::encode(h, bytes);
    bytes.resize(header_bytes + payload.size() + h.bth.pad);
    bytes.shrink_to_fit();  // so that reading beyond the packet is an error
    if (auto packet = wire::parse(bytes)) receive(*packet);
  }

  /// What packets stand for from here on, both ways, and whether payloads come with them.
  void change_path() {
    const auto request = in_.take<std::uint8_t>();
    window_.set_memory((request & 1) != 0 ? 5 * attributes_.path_mtu - 1 : 0, 128 * 1024);
    stands_for_ = (request & 2) == 0 ? 1 : 1 + in_.take<std::uint16_t>() % ((request & 4) == 0 ? 5 : 65'536);
    rendezvous_ = (request & 8) != 0;
    gone_ = (request & 16) != 0;
    piece_ = 0;
    if (stands_for_ > 1 && rendezvous_) piece_ = piece_of(in_.take<std::uint8_t>());
    window_.set_undecided((request & 0xe0) == 0xe0);
  }

  /// Bytes of each packet that a link has put together; 0: it has not.
  std::uint32_t piece_of(std::uint8_t request) const {
    const std::uint32_t odd[] = {0, attributes_.path_mtu, attributes_.path_mtu + request / 4,
                                 attributes_.path_mtu - request / 4};
    return odd[request % 4];
  }

  void receive(const wire::Packet& packet) {
    ib::RxPacket rx;
    Rendezvous source(gone_);
    rx.packet = packet;
    rx.packets = stands_for_;
    if (rendezvous_) {
      rx.packet.payload = {};
      rx.rendezvous = &source;
      rx.rendezvous_bytes = in_.take<std::uint32_t>();
      if (rx.rendezvous_bytes % 4 != 0) rx.rendezvous_bytes = std::size_t{stands_for_} * attributes_.path_mtu;
    }
    if (piece_ != 0 && stands_for_ > 1 && wire::joinable(*packet.info)) put_together(rx);
    rx.source = attributes_.path.destination;
    rx.destination = attributes_.path.source;
    endpoint_->receive(rx, now_);
  }

  /// As link::PacketCoalescer does: the last of them is no longer than the others.
  void put_together(ib::RxPacket& rx) {
    rx.first_bytes = piece_;
    rx.first_opcode = wire::parts_of(rx.packet.info->opcode).first;
    const std::size_t last = rx.packet.info->ends() ? 1 + in_.take<std::uint16_t>() % piece_ : piece_;
    rx.rendezvous_bytes = std::size_t{stands_for_ - 1} * piece_ + last;
  }

  void post_something() {
    static constexpr ib::SendOp kOps[] = {ib::SendOp::write,     ib::SendOp::write_with_imm,
                                          ib::SendOp::send,      ib::SendOp::send_with_imm,
                                          ib::SendOp::read,      ib::SendOp::compare_swap,
                                          ib::SendOp::fetch_add, ib::SendOp::send_with_invalidate,
                                          ib::SendOp::flush,     ib::SendOp::atomic_write};
    const auto op = kOps[in_.take<std::uint8_t>() % std::size(kOps)];
    const auto flags = in_.take<std::uint8_t>();
    post(op, in_.take<std::uint16_t>() % FuzzHost::kSize, (flags & 1) != 0);
  }

  void post(ib::SendOp op, std::uint32_t length, bool odd) {
    if (type_ == ib::QpType::xrc_target) return;  // no verb lets a post through
    const ib::SendSlot slot = endpoint_->reserve();
    FUZZ_CHECK((slot.wqe == nullptr) == (endpoint_->outstanding_sends() >= 8));
    if (slot.wqe == nullptr) return;
    const bool atomic = ib::is_atomic(op);
    if (op == ib::SendOp::flush) length = 0;
    if (op == ib::SendOp::atomic_write) length = 8;
    const bool sink = atomic || op == ib::SendOp::read;
    slot.wqe->wr_id = host_.next_send_id();
    slot.wqe->op = op;
    slot.wqe->signaled = !odd;
    slot.wqe->fence = odd;
    slot.wqe->length = atomic ? 8 : length;
    slot.wqe->swap_or_add = 1;  // of a FLUSH: of a range, for global visibility
    slot.wqe->remote_address = FuzzHost::kBase;
    slot.wqe->rkey = FuzzHost::kTarget;
    slot.wqe->address = attributes_.path;
    slot.wqe->remote_srqn = 1;
    slot.wqe->remote_qpn = kRemote;
    if (odd && !sink && length <= 32) {
      slot.wqe->is_inline = true;
      std::fill_n(slot.inline_data.begin(), length, std::byte{1});
    } else {
      const std::uint32_t head = slot.wqe->length / 2;
      const MemoryKey key = sink ? FuzzHost::kSink : FuzzHost::kSource;
      slot.sges[0] = {FuzzHost::kBase, head, key};
      slot.sges[1] = {FuzzHost::kBase + head, slot.wqe->length - head, key};
      slot.wqe->sge_count = 2;
    }
    endpoint_->commit();
  }

  void pass_time() {
    now_ += Duration(in_.take<std::uint16_t>()) * 100;
    const TimePoint due = endpoint_->deadline();
    if (due != kNever && in_.take<std::uint8_t>() % 2 == 0) now_ = std::max(now_, due);
    for (int i = 0; i < 20 && endpoint_->deadline() <= now_; ++i) {
      endpoint_->expire(now_);
      send_all();
      FUZZ_CHECK(i < 19 || endpoint_->deadline() > now_);
    }
  }

  /// Only what the QP state table lets through.
  void command() {
    const bool running = started_ && !flushed_ && !endpoint_->in_error();
    switch (in_.take<std::uint8_t>() % 8) {
      case 0:
        endpoint_->flush();
        flushed_ = true;
        break;
      case 1:
        if (running && !endpoint_->drained()) endpoint_->drain();
        break;
      case 2:
        if (!flushed_ && (endpoint_->drained() || (type_ == ib::QpType::ud && endpoint_->in_error())))
          endpoint_->resume();
        break;
      case 3:
        endpoint_->reset();
        host_.forget_receives();
        endpoint_->start_responder(attributes_);
        endpoint_->start_requester(attributes_);
        started_ = true;
        flushed_ = false;
        break;
      case 4:
        attributes_.access ^= ib::kRemoteWrite;
        if (running) endpoint_->update(attributes_);
        break;
      default:
        break;
    }
  }

  void send_all() {
    for (int packets = 0;; ++packets) {
      FUZZ_CHECK(packets < 20'000);
      if (endpoint_->transmit(out_, now_) != ib::Transmit::packet) return;
      std::size_t size = 0;
      for (std::uint16_t i = 0; i < out_.fragment_count; ++i) {
        size += out_.fragments[i].size;
        for (std::size_t k = 0; k < out_.fragments[i].size; ++k)
          touched_ = touched_ ^ std::to_integer<int>(out_.fragments[i].data[k]);
      }
      FUZZ_CHECK(out_.packets >= 1 && size == out_.payload_bytes);
      FUZZ_CHECK(size <= std::size_t{out_.packets} * attributes_.path_mtu);
      const wire::OpcodeInfo* info = wire::find_opcode(static_cast<std::uint8_t>(out_.headers.bth.opcode));
      FUZZ_CHECK(info != nullptr && out_.path != nullptr);
      FUZZ_CHECK((out_.headers.bth.psn & ~wire::kPsnMask) == 0);
      if (info->request) oldest_unanswered_ = out_.headers.bth.psn;
    }
  }

  fuzz::Input in_;
  ib::QpType type_;
  ib::Attributes attributes_;
  FuzzHost host_;
  ib::PathWindow window_;
  std::unique_ptr<ib::Endpoint> endpoint_;
  ib::TxPacket out_;
  TimePoint now_{std::chrono::seconds(1)};
  std::uint32_t oldest_unanswered_ = kPsn;
  std::uint32_t stands_for_ = 1;
  std::uint32_t piece_ = 0;
  bool rendezvous_ = false;
  bool gone_ = false;
  bool started_ = false;
  bool flushed_ = false;
  volatile int touched_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Driver(data, size).run();
  return 0;
}
