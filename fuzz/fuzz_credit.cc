// Input: steps of a lane whose UC and UD queue pairs send to lanes that lie: paths that begin to ask, room
// that is asked for, time, and packets for the lane itself, from anybody: made of fields, raw, or what it
// has sent itself, changed.
//
// No more may be under way to a peer than half of the buffer it has told, beyond what it says to have taken;
// what pending peers make it remember and send has a bound; and what it sends is in order.
#include <algorithm>
#include <vector>

#include "engine/qp_table.h"
#include "flow/credit_messages.h"
#include "fuzz/check.h"
#include "transport/ib/rx_packet.h"

using namespace softrnic;
using flow::PeerCredit;

namespace {

constexpr std::uint8_t kLane = 3;
constexpr std::uint32_t kBuffer = 8 << 20;
constexpr std::uint32_t kQkey = 0x53524e43;
constexpr std::size_t kMostAnswers = 256, kPeers = 6;

wire::Gid gid(std::uint8_t number) {
  return wire::Gid::from_ipv4_be(0x0000000aU | std::uint32_t{number} << 24);
}

/// What may be sent to a peer, by the rules.
struct Model {
  wire::Gid address;
  std::uint8_t lane = 0;
  flow::Path* path = nullptr;
  std::uint64_t granted = 0;
  std::uint64_t taken = 0;
  std::uint32_t window = PeerCredit::kFirstWindow;

  void reported(std::uint64_t place, std::uint32_t buffer) {
    if (place > granted) return;
    taken = std::max(taken, place);
    window = std::max(buffer / 2, PeerCredit::kLeastWindow);
  }
};

class Driver {
 public:
  Driver(const std::uint8_t* data, std::size_t size) : in_(data, size), credit_(kLane, kBuffer) {}

  void run() {
    for (int steps = 0; steps < 2'000 && !in_.empty(); ++steps) step();
    send();
  }

 private:
  void step() {
    const auto what = in_.take<std::uint8_t>();
    switch (what % 8) {
      case 0:
        observe();
        break;
      case 1:
      case 2:
        if (!peers_.empty()) take_room(peers_[what / 8 % peers_.size()]);
        break;
      case 3:
        now_ += Duration(in_.take<std::uint16_t>()) * (what < 128 ? 1'000 : 1'000'000);
        break;
      case 4:
        send();
        break;
      case 5:
        receive_raw();
        break;
      default:
        receive_made();
        break;
    }
  }

  void observe() {
    if (peers_.size() == kPeers) return;
    Model& peer = peers_.emplace_back();
    peer.address = gid(static_cast<std::uint8_t>(peers_.size()));
    peer.lane = in_.take<std::uint8_t>();
    peer.path = &paths_.path(peer.address, peer.lane);
    ib::AddressVector to;
    to.source = gid(100);
    to.destination = peer.address;
    credit_.observe(*peer.path, to, peer.lane);
  }

  void take_room(Model& peer) {
    static_cast<void>(peer.path->credit()->knows(now_));
    const std::uint32_t part = peer.path->credit()->room(now_);
    peer.granted += part;
    FUZZ_CHECK(part == 0 || peer.granted - peer.taken <= peer.window);
  }

  void send() {
    const bool any = credit_.any();
    std::size_t reports = 0, probes = 0;
    credit_.send([&](const ib::TxPacket& packet) {
      FUZZ_CHECK(packet.fragment_count == 1 && packet.payload_bytes == mad::kMadBytes);
      FUZZ_CHECK(packet.headers.bth.destination.index() == Qpn::kLaneIndex);
      FUZZ_CHECK(packet.headers.deth.source.lane() == kLane);
      std::copy_n(packet.fragments[0].data, sent_.size(), sent_.begin());
      const auto header = mad::parse_header(sent_);
      FUZZ_CHECK(header);
      const bool report = header->method == mad::Method::get_response;
      ++(report ? reports : probes);
      if (report)
        FUZZ_CHECK(header->modifier <= kBuffer && header->modifier >= kBuffer / flow::BufferSharers::kMost);
    });
    FUZZ_CHECK(any == (reports + probes != 0) && reports <= kMostAnswers && probes <= kPeers);
    FUZZ_CHECK(!credit_.any());
  }

  void receive_raw() {
    const Bytes raw = in_.take_bytes(in_.take<std::uint8_t>() * 2U);
    if (const auto packet = wire::parse(raw)) receive(*packet);
  }

  void receive_made() {
    const auto flags = in_.take<std::uint8_t>();
    wire::Packet packet;
    packet.headers.bth.opcode =
        (flags & 64) == 0 ? wire::Opcode::ud_send_only : wire::Opcode::ud_send_only_imm;
    packet.headers.deth.qkey = (flags & 128) == 0 ? kQkey : in_.take<std::uint32_t>();
    packet.headers.deth.source = Qpn::of(in_.take<std::uint8_t>(), Qpn::kLaneIndex);
    if ((flags & 32) == 0 && !peers_.empty())
      packet.headers.deth.source = Qpn::of(peers_[flags % peers_.size()].lane, 0);
    packet.info = &wire::opcode_info(packet.headers.bth.opcode);
    mad::Mad mad = sent_;
    if ((flags & 16) == 0) {
      mad::Header header;
      header.management_class = static_cast<mad::ManagementClass>(0x09);
      header.class_version = 1;
      header.method = (flags & 1) == 0 ? mad::Method::get_response : mad::Method::get;
      header.transaction = in_.take<std::uint32_t>() * ((flags & 4) == 0 ? 1ULL : 0x1'0000'0001ULL);
      header.attribute = 0x0010;
      header.modifier = in_.take<std::uint32_t>();
      mad::encode_header(header, mad);
    } else {
      for (int i = flags % 4; i > 0; --i)
        mad[in_.take<std::uint8_t>() % mad::kHeaderBytes] = static_cast<std::byte>(in_.take<std::uint8_t>());
    }
    packet.payload = Bytes(mad).first((flags & 8) == 0 ? mad.size() : in_.take<std::uint8_t>());
    receive(packet);
  }

  void receive(const wire::Packet& packet) {
    ib::RxPacket rx;
    rx.packet = packet;
    rx.source = gid(in_.take<std::uint8_t>() % (kPeers + 2));
    rx.destination = gid(100);
    const std::size_t paths = paths_.size();
    const bool taken = credit_.receive(rx, paths_, now_);
    FUZZ_CHECK(paths_.size() == paths);
    const auto header = mad::parse_header(packet.payload);
    FUZZ_CHECK(!taken || (header && packet.headers.deth.qkey == kQkey));
    if (!taken || header->method != mad::Method::get_response) return;
    for (Model& peer : peers_)
      if (peer.address == rx.source && peer.lane == packet.headers.deth.source.lane())
        peer.reported(header->transaction, header->modifier);
  }

  fuzz::Input in_;
  flow::PathTable paths_;
  flow::CreditMessages credit_;
  std::vector<Model> peers_;
  mad::Mad sent_{};  ///< the last message
  TimePoint now_{std::chrono::seconds(1)};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Driver(data, size).run();
  return 0;
}
