// Input: QP type, path MTU, address family and state; then steps: datagrams of several packets with the
// right ICRC, as a lane's socket gives them (the kernel cuts and joins by size alone), receives, time, and
// whether payloads can still be fetched.
//
// They pass through UdpReceiver, which puts packets together, into an endpoint. It must take from them the
// same messages as an endpoint that gets each packet by itself, and never touch memory beside a datagram,
// whatever is asked of its payload.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sanitizer/asan_interface.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/reason_id.h"
#include "fuzz/fuzz_responder_host.h"
#include "link/udp_receiver.h"
#include "transport/ib/rx_packet.h"
#include "wire/headers.h"

using namespace softrnic;
using fuzz::FuzzHost;
using wire::Opcode;

namespace {

constexpr std::uint16_t kPort = 4791;
constexpr std::uint32_t kPsn = 0xfffff0;  // near the wrap
constexpr Qpn kLocal(0x010203), kRemote(0x040506);
constexpr std::size_t kMostBytes = 65'000;  // of a datagram

/// What the next recvmmsg() reads.
struct Datagram {
  wire::Flow flow;
  int segment_bytes = 0;
  std::vector<std::byte> bytes;
};
const Datagram* waiting = nullptr;

/// What lies behind a datagram in the buffer that it was read into: nobody may look there.
class Beyond {
 public:
  void close(void* begin, std::size_t size) {
    open();
    begin_ = begin;
    size_ = size;
    ASAN_POISON_MEMORY_REGION(begin_, size_);
  }
  void open() {
    ASAN_UNPOISON_MEMORY_REGION(begin_, size_);
    size_ = 0;
  }

 private:
  void* begin_ = nullptr;
  std::size_t size_ = 0;
} beyond;

template <typename T>
cmsghdr* put(msghdr& message, cmsghdr* at, int level, int type, const T& value) {
  at->cmsg_level = level;
  at->cmsg_type = type;
  at->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(at), &value, sizeof value);
  return CMSG_NXTHDR(&message, at);
}

void fill(msghdr& message, const Datagram& from) {
  const link::SocketAddress source =
      link::to_socket_address(link::Family::dual, from.flow.source, from.flow.source_port, 0, 0);
  std::memcpy(message.msg_name, &source, sizeof source);
  std::memset(message.msg_control, 0, message.msg_controllen);
  cmsghdr* at = CMSG_FIRSTHDR(&message);
  if (from.segment_bytes != 0) at = put(message, at, SOL_UDP, UDP_GRO, from.segment_bytes);
  at = put(message, at, SOL_IPV6, IPV6_PKTINFO, in6_pktinfo{link::to_in6(from.flow.destination), 1});
  message.msg_controllen =
      static_cast<std::size_t>(reinterpret_cast<char*>(at) - static_cast<char*>(message.msg_control));
  auto* const to = static_cast<std::byte*>(message.msg_iov->iov_base);
  beyond.open();
  std::copy(from.bytes.begin(), from.bytes.end(), to);
  beyond.close(to + from.bytes.size(), message.msg_iov->iov_len - from.bytes.size());
}

}  // namespace

// The kernel's part.
extern "C" int recvmmsg(int, mmsghdr* messages, unsigned, int, timespec*) {
  if (waiting == nullptr) {
    errno = EAGAIN;
    return -1;
  }
  fill(messages[0].msg_hdr, *waiting);
  messages[0].msg_len = static_cast<unsigned>(waiting->bytes.size());
  waiting = nullptr;
  return 1;
}

namespace {

/// Has the payload of another one, until it runs out.
class Fetched final : public ib::PayloadSource {
 public:
  Fetched(ib::PayloadSource& from, std::size_t bytes, unsigned& left)
      : from_(from), bytes_(bytes), left_(left) {}
  bool copy(std::size_t offset, std::byte* to, std::size_t size) override {
    FUZZ_CHECK(offset <= bytes_ && size <= bytes_ - offset);
    if (left_ == 0) return false;
    --left_;
    FUZZ_CHECK(from_.copy(offset, to, size));
    return true;
  }

 private:
  ib::PayloadSource& from_;
  std::size_t bytes_;
  unsigned& left_;
};

/// An endpoint and its adapter.
struct Side {
  explicit Side(ib::QpType type) : endpoint(ib::make_endpoint(type, kLocal, ib::Capacity{8, 2, 0}, host)) {}

  void start(const ib::Attributes& attributes, std::uint32_t read) {
    endpoint->start_responder(attributes);
    endpoint->start_requester(attributes);
    if (read == 0) return;
    const ib::SendSlot slot = endpoint->reserve();
    slot.wqe->wr_id = host.next_send_id();
    slot.wqe->op = ib::SendOp::read;
    slot.wqe->signaled = true;
    slot.wqe->length = read;
    slot.wqe->sge_count = 2;
    slot.sges[0] = {FuzzHost::kBase, read / 3, FuzzHost::kSink};
    slot.sges[1] = {FuzzHost::kBase + read / 3, read - read / 3, FuzzHost::kSink};
    endpoint->commit();
    drain();
  }
  void drain() {
    ib::TxPacket out;
    for (int packets = 0; endpoint->transmit(out, now) == ib::Transmit::packet; ++packets)
      FUZZ_CHECK(packets < 20'000);
  }

  TimePoint now{std::chrono::seconds(1)};
  FuzzHost host;
  std::unique_ptr<ib::Endpoint> endpoint;
};

constexpr ib::QpType kTypes[] = {ib::QpType::rc, ib::QpType::uc, ib::QpType::ud, ib::QpType::xrc_target};

class Driver final : public link::Receiver {
 public:
  Driver(const std::uint8_t* data, std::size_t size)
      : in_(data, size),
        type_(kTypes[in_.take<std::uint8_t>() % std::size(kTypes)]),
        joined_(type_),
        single_(type_),
        receiver_(-1, link::Family::dual, kPort) {
    const auto knobs = in_.take<std::uint8_t>();
    const bool ipv6 = (knobs & 1) != 0;
    datagram_.flow.source = ipv6 ? gid(1) : wire::Gid::from_ipv4_be(0x0200000a);
    datagram_.flow.destination = ipv6 ? gid(2) : wire::Gid::from_ipv4_be(0x0100000a);
    datagram_.flow.destination_port = kPort;
    attributes_.path_mtu = 256U << (knobs / 2 % 3);
    attributes_.local = kLocal;
    attributes_.remote = kRemote;
    attributes_.path.source = datagram_.flow.destination;
    attributes_.path.destination = datagram_.flow.source;
    attributes_.send_psn = attributes_.receive_psn = kPsn;
    attributes_.access = 0xf;
    attributes_.max_reads_in = attributes_.max_reads_out = 2;
    attributes_.qkey = 7;
    const bool reads = type_ == ib::QpType::rc && (knobs & 16) != 0;
    read_ = reads ? in_.take<std::uint16_t>() % FuzzHost::kSize : 0;
    for (Side* side : {&joined_, &single_}) side->start(attributes_, read_);
    request_psn_ = response_psn_ = kPsn;
  }

  void run() {
    for (int steps = 0; steps < 100 && !in_.empty(); ++steps) step();
    if (comparable_) FUZZ_CHECK(joined_.host.successes() == single_.host.successes());
    for (Side* side : {&joined_, &single_}) {
      side->endpoint->flush();
      side->drain();
      FUZZ_CHECK(side->endpoint->outstanding_sends() == 0 && !side->host.holds_receives());
    }
  }

  // ---- link::Receiver
  void packet(const ib::RxPacket& rx) override {
    FUZZ_CHECK(rx.packets == 1 || rx.rendezvous != nullptr);
    if (rx.rendezvous == nullptr) {
      joined_.endpoint->receive(rx, joined_.now);
      return;
    }
    ask_for_anything(rx);
    Fetched fetched(*rx.rendezvous, rx.rendezvous_bytes, fetches_);
    ib::RxPacket with = rx;
    with.rendezvous = &fetched;
    joined_.endpoint->receive(with, joined_.now);
  }
  void dropped(const Reason& reason, ib::Counter, Qpn, std::uint64_t packets) override {
    FUZZ_CHECK(reason.id != ReasonId::none && packets != 0);
  }

 private:
  static wire::Gid gid(std::uint8_t number) {
    wire::Gid out;
    out.raw[0] = std::byte{0xfd};
    out.raw[15] = std::byte{number};
    return out;
  }

  void step() {
    const auto what = in_.take<std::uint8_t>();
    switch (what % 8) {
      case 0: {
        const std::uint32_t length = in_.take<std::uint16_t>() % FuzzHost::kSize;
        for (Side* side : {&joined_, &single_}) side->host.post_receive(length, (what & 8) != 0);
        break;
      }
      case 1:
        fetches_ = in_.take<std::uint8_t>() / 16;
        comparable_ = false;
        break;
      default:
        datagram(1 + in_.take<std::uint8_t>() % 24);
        break;
    }
    for (Side* side : {&joined_, &single_}) side->drain();
  }

  // The kernel joins packets of one size, and a shorter one behind them.
  void datagram(unsigned packets) {
    datagram_.bytes.clear();
    datagram_.segment_bytes = 0;
    position_ = 0;
    bool whole = true;
    for (unsigned i = 0; i < packets; ++i) {
      std::vector<std::byte> bytes = next_packet();
      const auto size = static_cast<int>(bytes.size() + wire::kIcrcBytes);
      const bool longer = datagram_.segment_bytes != 0 && size > datagram_.segment_bytes;
      if (longer || !whole || datagram_.bytes.size() + bytes.size() > kMostBytes) deliver();
      if (datagram_.segment_bytes == 0) datagram_.segment_bytes = size;
      whole = size == datagram_.segment_bytes;
      append(std::move(bytes));
    }
    deliver();
  }

  void append(std::vector<std::byte> bytes) {
    const bool damaged = in_.take<std::uint8_t>() == 0xd5;
    wire::Icrc icrc(datagram_.flow, bytes.size() + wire::kIcrcBytes, position_++);
    icrc.add_headers(bytes);
    const std::uint32_t value = icrc.value() ^ (damaged ? 1 : 0);
    const auto* const end = reinterpret_cast<const std::byte*>(&value);
    if (!damaged && bytes.size() >= wire::kBthBytes) arrivals_.push_back(bytes);
    datagram_.bytes.insert(datagram_.bytes.end(), bytes.begin(), bytes.end());
    datagram_.bytes.insert(datagram_.bytes.end(), end, end + sizeof value);
  }

  void deliver() {
    if (datagram_.bytes.empty()) return;
    waiting = &datagram_;
    receiver_.receive(*this, joined_.now);
    FUZZ_CHECK(waiting == nullptr);
    beyond.open();
    for (const auto& bytes : arrivals_) deliver_by_itself(bytes);
    arrivals_.clear();
    datagram_.bytes.clear();
    datagram_.segment_bytes = 0;
    position_ = 0;
  }

  void deliver_by_itself(const std::vector<std::byte>& bytes) {
    ib::RxPacket rx;
    if (!wire::parse_into(bytes, rx.packet)) return;
    rx.source = datagram_.flow.source;
    rx.destination = datagram_.flow.destination;
    single_.endpoint->receive(rx, single_.now);
  }

  /// A message's packets in a row by default, and whatever else the input says.
  std::vector<std::byte> next_packet() {
    const auto kind = in_.take<std::uint8_t>();
    if (kind == 0xff) {
      const Bytes raw = in_.take_bytes(4 + in_.take<std::uint8_t>() / 4 * 4);
      return {raw.begin(), raw.end()};
    }
    static constexpr std::uint8_t kService[] = {0x00, 0x20, 0x64, 0xa0, 0xa0};  // by QpType
    const std::uint8_t offset = type_ == ib::QpType::ud ? kind % 2 : kind % 0x18;
    wire::Headers h;
    h.bth.opcode = static_cast<Opcode>(kService[static_cast<int>(type_)] + offset);
    const wire::OpcodeInfo& info = wire::opcode_info(h.bth.opcode);
    std::uint32_t& psn = info.request ? request_psn_ : response_psn_;
    const auto flags = in_.take<std::uint8_t>();
    if ((flags & 1) != 0) psn = (psn + static_cast<std::uint32_t>(in_.take<std::int8_t>())) & wire::kPsnMask;
    h.bth.psn = psn;
    psn = (psn + 1) & wire::kPsnMask;
    h.bth.destination = kLocal;
    h.xrc_srqn = 1 + flags / 128;
    h.bth.ack_request = (flags & 2) != 0;
    h.bth.solicited = (flags & 4) != 0;
    h.bth.pkey = (flags & 0xf8) == 0xf8 ? 0x1234 : wire::kDefaultPkey;
    h.deth = {attributes_.qkey, kRemote, 0};
    h.reth = {FuzzHost::kBase, FuzzHost::kTarget, (flags & 8) != 0 ? in_.take<std::uint16_t>() : 0U};
    h.atomic = {FuzzHost::kBase, FuzzHost::kTarget, 1, 1};
    h.invalidate = FuzzHost::kWindow;
    h.aeth = {(flags & 16) != 0 ? in_.take<std::uint8_t>() : wire::kAckUnlimitedCredits, 1};
    const std::size_t size = payload_of(info, (flags & 32) != 0);
    h.bth.pad = wire::pad_for(size);
    if ((flags & 64) != 0) h.bth.pad = static_cast<std::uint8_t>(in_.take<std::uint8_t>() & 3);
    std::vector<std::byte> bytes(wire::kMaxHeaderBytes);
    bytes.resize(wire::encode(h, bytes));
    bytes.resize(bytes.size() + size + h.bth.pad, static_cast<std::byte>(h.bth.psn));
    return bytes;
  }

  std::size_t payload_of(const wire::OpcodeInfo& info, bool any) {
    if (any) return in_.take<std::uint16_t>() % (attributes_.path_mtu + 9);
    if (info.payload == wire::PayloadRule::none) return 0;
    return info.ends() ? in_.take<std::uint16_t>() % (attributes_.path_mtu + 1) : attributes_.path_mtu;
  }

  void ask_for_anything(const ib::RxPacket& rx) {
    const std::size_t offset = in_.take<std::uint16_t>() * 2U;
    const std::size_t size = in_.take<std::uint16_t>() * 2U;
    const bool inside = offset <= rx.rendezvous_bytes && size <= rx.rendezvous_bytes - offset;
    std::vector<std::byte> to(inside ? size : 1);
    FUZZ_CHECK(rx.rendezvous->copy(offset, to.data(), size) == inside);
    FUZZ_CHECK(!rx.rendezvous->copy(~std::size_t{0}, to.data(), 2));
  }

  fuzz::Input in_;
  ib::QpType type_;
  ib::Attributes attributes_;
  Side joined_, single_;
  link::UdpReceiver receiver_;
  Datagram datagram_;
  std::vector<std::vector<std::byte>> arrivals_;  ///< the packets of the datagram that are intact
  std::uint16_t position_ = 0;
  std::uint32_t read_ = 0;
  std::uint32_t request_psn_ = 0, response_psn_ = 0;
  unsigned fetches_ = ~0U;
  bool comparable_ = true;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  waiting = nullptr;
  Driver(data, size).run();
  return 0;
}
