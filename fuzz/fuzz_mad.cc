// Input: a byte, and behind it either a management datagram or records, each something that happens to the
// agents of a port: programs open it, register, send, take what came and leave; datagrams that were sent
// come back as they were, altered, again or not at all, and others come that nobody has sent; time goes by.
// Whatever the order: what is decoded is encoded to the same bytes; a program gets responses to what it
// asked alone, each request is given up once at most, everything ends in bounded time, and nothing is left
// of who has left.
#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fuzz/check.h"
#include "mad/agents.h"
#include "mad/attribute_modifier.h"
#include "mad/attributes.h"
#include "mad/class_port_info.h"
#include "mad/class_rules.h"
#include "mad/component_mask.h"
#include "mad/diagnostics.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/inform_info.h"
#include "mad/node_info.h"
#include "mad/notice.h"
#include "mad/optional_counters.h"
#include "mad/p_key_table.h"
#include "mad/port_counters.h"
#include "mad/port_info.h"
#include "mad/port_samples.h"
#include "mad/sa_header.h"
#include "mad/sa_multicast_record.h"
#include "mad/sa_node_records.h"
#include "mad/sa_path_records.h"
#include "mad/sa_service_records.h"
#include "mad/sa_table_records.h"
#include "mad/sm_info.h"
#include "mad/smp.h"
#include "mad/switch_info.h"
#include "mad/virtual_lane_tables.h"

using namespace softrnic;
using namespace softrnic::mad;

namespace {

// ---- formats

void check_printable(const std::string& text) {
  FUZZ_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

template <Formatted M>
void check_format(Bytes bytes, std::uint64_t mask) {
  std::array<std::byte, kBytesOf<M>> whole{};
  const std::size_t there = std::min(bytes.size(), whole.size());
  std::copy_n(bytes.begin(), there, whole.begin());
  const M value = decode<M>(bytes);
  FUZZ_CHECK(encoded(value) == whole);
  std::vector<std::byte> cut(there);
  encode(value, cut);
  FUZZ_CHECK(std::equal(cut.begin(), cut.end(), whole.begin()));
  FUZZ_CHECK(matches(mask, value, value));
  check_printable(to_string(value));
}

template <Formatted... M>
constexpr std::array kChecksOf = {check_format<M>...};
constexpr auto kFormats = kChecksOf<
    Smp, RmppHeader, SaHeader, PortModifier, PKeyTableModifier, SlToVlModifier, VlArbitrationModifier,
    MulticastForwardingModifier, ClassPortInfo, VendorDiag, LedInfo, LinearForwardingTable,
    RandomForwardingTable, MulticastForwardingTable, GuidInfo, InformInfo, NodeDescription, NodeInfo, Notice,
    PKeyTable, PortInfo, PortInfoExtended, SmInfo, SwitchInfo, SlToVlMappingTable, VlArbitrationTable,
    PortCounters, PortCountersExtended, PortRcvErrorDetails, PortXmitDiscardDetails,
    PortExtendedSpeedsCounters, PortOpRcvCounters, PortVlOpPackets, PortVlXmitFlowCtlUpdateErrors,
    PortVlXmitTimeCong, PortXmitDataSl, PortSamplesControl, PortSamplesResult, PortSamplesResultExtended,
    McMemberRecord, NodeRecord, PortInfoRecord, SwitchInfoRecord, SmInfoRecord, LinkRecord, GuidInfoRecord,
    PathRecord, MultiPathRecord, ServiceRecord, InformInfoRecord, SlToVlMappingTableRecord,
    LinearForwardingTableRecord, RandomForwardingTableRecord, MulticastForwardingTableRecord, PKeyTableRecord,
    VlArbitrationTableRecord, GidDetails, PathDetails, LinkStateDetails, ThresholdDetails,
    LocalChangesDetails, SystemImageGuidDetails, BadMKeyDetails, BadKeyDetails, SwitchBadPKeyDetails>;

void check_datagram(fuzz::Input in) {
  const auto mask = in.take<std::uint64_t>();
  for (const auto check : kFormats) check(in.rest(), mask);
  check_printable(describe(decode<Notice>(in.rest())));
  const auto header = parse_header(in.rest());
  FUZZ_CHECK(header || in.rest().size() != kMadBytes || in.rest()[0] != std::byte{kBaseVersion});
  const auto refusal = unwanted_response(in.rest());
  if (refusal) FUZZ_CHECK(header && is_response(*parse_header(*refusal)));
  if (!header) return;
  std::array<std::byte, kHeaderBytes> again{};
  encode_header(*header, again);
  FUZZ_CHECK(std::equal(again.begin(), again.end(), in.rest().begin()));
  const AttributeInfo* const attribute = find_attribute(header->management_class, header->attribute);
  FUZZ_CHECK(attribute == nullptr || !attribute->name.empty());
}

// ---- agents

constexpr ManagementClass kClasses[] = {ManagementClass::subnet_administration,
                                        ManagementClass::openib_ping,
                                        ManagementClass::subnet_directed_route,
                                        ManagementClass::performance,
                                        ManagementClass::device_management,
                                        ManagementClass::communication,
                                        ManagementClass::baseboard,
                                        ManagementClass{}};
constexpr Method kMethods[] = {Method::get,    Method::get_table,    Method::set,
                               Method::send,   Method::get_response, Method::get_table_response,
                               Method::report, Method::trap};
constexpr std::uint32_t kOui = 0x001405;
constexpr std::size_t kMostUnderWay = 512;

class Host final : public AgentHost {
 public:
  struct Sent {
    Queue queue;
    Peer to;
    Mad mad;
  };
  void send(Queue queue, const Peer& to, Bytes mad) override {
    FUZZ_CHECK(mad.size() == kMadBytes && mad[0] == std::byte{kBaseVersion});
    ++sent;
    Sent each{queue, to, {}};
    std::copy(mad.begin(), mad.end(), each.mad.begin());
    if (answers_at_once && depth < 3) {
      ++depth;
      each.mad[3] ^= std::byte{0x80};
      agents->receive(queue, to, each.mad, now);
      --depth;
    } else if (under_way.size() < kMostUnderWay) {
      under_way.push_back(each);
    }
  }
  void received(OpenId open) override { FUZZ_CHECK(agents->front(open) != nullptr); }
  void explain(const Reason& reason) override { FUZZ_CHECK(!describe(reason).empty()); }

  Agents* agents = nullptr;
  TimePoint now{std::chrono::seconds(1)};
  std::deque<Sent> under_way;
  std::size_t sent = 0;
  bool answers_at_once = false;
  int depth = 0;
};

class Driver {
 public:
  Driver() { host_.agents = &agents_; }

  void record(fuzz::Input& in) {
    const unsigned what = in.take<std::uint8_t>();
    const unsigned which = in.take<std::uint8_t>();
    act(what, which, in);
    FUZZ_CHECK(timed_out_ <= sends_);
  }
  void finish() {
    host_.answers_at_once = false;
    // Each attempt of each message, and the memory of each transfer that has ended.
    std::size_t steps = 100 * (sends_ + kMostUnderWay);
    for (; agents_.deadline() != kNever; --steps) {
      FUZZ_CHECK(steps > 0);
      pass_to_deadline();
    }
    for (const OpenId open : std::exchange(opens_, {})) close(open);
    const std::size_t sent = host_.sent;
    agents_.advance(host_.now + std::chrono::hours(1));
    FUZZ_CHECK(agents_.deadline() == kNever && host_.sent == sent);
  }

 private:
  static Peer peer_of(unsigned which) {
    Peer peer;
    peer.lid = static_cast<std::uint16_t>(1 + which % 2);
    peer.has_grh = which % 16 == 15;
    peer.path_bits = which % 32 == 30;
    return peer;
  }
  template <typename Result>
  static void heed(const Result& result) {
    if (!result) FUZZ_CHECK(result.error().error > 0 && !describe(result.error().reason).empty());
  }
  OpenId open_of(unsigned which) const {
    return which >= 0xf8 || opens_.empty() ? OpenId(which) : opens_[which % opens_.size()];
  }

  void act(unsigned what, unsigned which, fuzz::Input& in) {
    switch (what % 14) {
      case 0:
        if (opens_.size() < 4) opens_.push_back(agents_.open());
        return;
      case 1:
        return close(open_of(which));
      case 2:
        return add_agent(open_of(which), in);
      case 3:
        return heed(agents_.remove_agent(open_of(which), in.take<std::uint8_t>()));
      case 4:
        return send(open_of(which), in);
      case 5:
        return carry(which, in);
      case 6:
        if (!host_.under_way.empty()) host_.under_way.pop_front();
        return;
      case 7:
        if (!host_.under_way.empty()) host_.under_way.push_back(host_.under_way.front());
        return;
      case 8:
        return answer(which, in);
      case 9:
        return stranger(which, in);
      case 10:
        host_.now += std::chrono::milliseconds(which * 20);
        return advance();
      case 11:
        return pass_to_deadline();
      case 12:
        return take(open_of(which));
      default:
        host_.answers_at_once = which % 4 == 0;
        agents_.set_rules({.has_qp0 = which % 8 != 7, .lmc = static_cast<std::uint8_t>(which % 3)});
        return;
    }
  }

  void close(OpenId open) {
    agents_.close(open);
    std::erase(opens_, open);
    FUZZ_CHECK(agents_.front(open) == nullptr);
  }
  void add_agent(OpenId open, fuzz::Input& in) {
    const unsigned how = in.take<std::uint8_t>();
    Registration wanted;
    wanted.management_class = kClasses[how % std::size(kClasses)];
    wanted.queue = is_subnet_management(wanted.management_class) != (how >= 0xf8) ? Queue::smi : Queue::gsi;
    wanted.class_version = static_cast<std::uint8_t>(1 + how / 8 % 2);
    wanted.oui = is_vendor_range2(wanted.management_class) ? kOui : 0;
    wanted.rmpp_version = static_cast<std::uint8_t>(how / 16 % 2);
    wanted.does_rmpp_itself = how / 32 % 4 == 3;
    wanted.methods = in.take<std::uint32_t>();
    const auto added = agents_.add_agent(open, wanted);
    heed(added);
    if (!added) return;
    FUZZ_CHECK(*added < Agents::kAgentsOfOpen);
    if (!wanted.uses_rmpp()) does_rmpp_itself_.emplace(open.value, *added);
  }

  /// A message whose parts fit each other, mostly.
  std::vector<std::byte> message(unsigned how, fuzz::Input& in) {
    const ManagementClass management_class = kClasses[how % std::size(kClasses)];
    const std::size_t size = in.take<std::uint16_t>() % 3000;
    std::vector<std::byte> message(how >= 0xf8 ? size : std::max(size, kMadBytes));
    const Bytes rest = in.take_bytes(in.take<std::uint8_t>() % 64);
    if (message.size() < kMadBytes) return message;
    Header header{.management_class = management_class};
    header.class_version = static_cast<std::uint8_t>(1 + how / 8 % 2);
    header.method = kMethods[in.take<std::uint8_t>() % std::size(kMethods)];
    header.transaction = in.take<std::uint8_t>() % 4;
    if (is_response(header)) header.transaction |= last_transaction_ & ~std::uint64_t{UINT32_MAX};
    encode_header(header, message);
    if (rule_of(management_class).has_rmpp)
      encode_rmpp({.type = RmppType::data, .active = how / 16 % 2 != 0}, message);
    if (is_vendor_range2(management_class)) store_be24(&message[37], kOui);
    std::copy(rest.begin(), rest.end(), message.begin() + 40);
    return message;
  }
  void send(OpenId open, fuzz::Input& in) {
    const unsigned agent = in.take<std::uint8_t>() % 8;
    const unsigned how = in.take<std::uint8_t>();
    Outgoing outgoing;
    const std::vector<std::byte> bytes = message(how, in);
    outgoing.message = bytes;
    const unsigned times = in.take<std::uint8_t>();
    outgoing.to = peer_of(times);
    outgoing.timeout_ms = times / 8 * 50;
    outgoing.retries = times % 8;
    const auto done = agents_.send(open, agent, outgoing, host_.now);
    heed(done);
    if (!done) return;
    ++sends_;
    asked_.emplace(open.value, agent, load_be64(&bytes[8]) & UINT32_MAX);
  }

  void receive(Queue queue, const Peer& from, const Mad& mad) {
    if (mad[0] == std::byte{kBaseVersion}) last_transaction_ = load_be64(&mad[8]);
    agents_.receive(queue, from, mad, host_.now);
  }
  /// The oldest datagram comes back: as it was, or with a few bytes changed.
  void carry(unsigned which, fuzz::Input& in) {
    if (host_.under_way.empty()) return;
    Host::Sent each = host_.under_way.front();
    host_.under_way.pop_front();
    for (unsigned i = 0; i < which / 64; ++i) {
      const auto at = in.take<std::uint8_t>();
      each.mad[at] = in.take<std::byte>();
    }
    receive(each.queue, which % 64 == 63 ? peer_of(which / 64) : each.to, each.mad);
  }
  /// To the oldest datagram, with an RMPP header of whatever kind.
  void answer(unsigned which, fuzz::Input& in) {
    if (host_.under_way.empty()) return;
    Host::Sent each = host_.under_way.front();
    if (which % 2 != 0) host_.under_way.pop_front();
    each.mad[3] ^= std::byte{0x80};
    if (which / 2 % 2 != 0) {
      const unsigned flags = in.take<std::uint8_t>();
      RmppHeader header{.type = static_cast<RmppType>(flags % 8)};
      header.last = (flags & 8) != 0;
      header.first = (flags & 16) != 0;
      header.active = (flags & 32) == 0;
      header.response_time = static_cast<std::uint8_t>(which / 8);
      header.status = static_cast<RmppStatus>((flags & 64) != 0 ? in.take<std::uint8_t>() : 0);
      header.segment_number = in.take<std::uint8_t>();
      header.payload_length = (flags & 128) != 0 ? in.take<std::uint32_t>() : in.take<std::uint8_t>();
      encode_rmpp(header, each.mad);
    }
    receive(each.queue, each.to, each.mad);
  }
  void stranger(unsigned which, fuzz::Input& in) {
    Mad mad{};
    const Bytes bytes = which % 8 == 0 ? in.take_bytes(kMadBytes) : Bytes{};
    std::copy(bytes.begin(), bytes.end(), mad.begin());
    if (bytes.empty()) {
      const std::vector<std::byte> whole = message(in.take<std::uint8_t>() % 0xf8, in);
      std::copy_n(whole.begin(), mad.size(), mad.begin());
      if (which / 8 % 2 != 0) {
        RmppHeader header = decode_rmpp(mad);
        header.segment_number = header.first = true;
        header.payload_length = in.take<std::uint16_t>();
        encode_rmpp(header, mad);
      }
    }
    receive(which / 64 == 3 ? Queue::smi : Queue::gsi, peer_of(which), mad);
    agents_.receive(Queue::gsi, peer_of(which), bytes, host_.now);  // of any length
  }

  void take(OpenId open) {
    const Received* const front = agents_.front(open);
    if (front == nullptr) return;
    FUZZ_CHECK(front->agent < Agents::kAgentsOfOpen && front->message.size() >= kHeaderBytes);
    FUZZ_CHECK(front->message.size() <= Agents::kMostBytes);
    const std::uint64_t transaction = load_be64(&front->message[8]) & UINT32_MAX;
    const bool is_asked = asked_.contains({open.value, front->agent, transaction});
    if (front->timed_out) {
      FUZZ_CHECK(front->message.size() == kHeaderBytes && is_asked);
      ++timed_out_;
    } else {
      Mad mad{};
      std::copy_n(front->message.begin(), std::min(front->message.size(), mad.size()), mad.begin());
      const auto header = parse_header(mad);
      FUZZ_CHECK(header && front->message.size() >= rule_of(header->management_class).data_offset);
      // Who does RMPP itself gets all segments, as from Linux.
      const bool is_raw = is_segment(*header, mad) && does_rmpp_itself_.contains({open.value, front->agent});
      FUZZ_CHECK(!is_response(*header) || is_asked || is_raw);
    }
    agents_.pop(open);
  }

  void advance() {
    agents_.advance(host_.now);
    FUZZ_CHECK(agents_.deadline() > host_.now);
  }
  void pass_to_deadline() {
    if (agents_.deadline() != kNever) host_.now = std::max(host_.now, agents_.deadline());
    advance();
  }

  Host host_;
  AgentIds ids_;
  Agents agents_{host_, ids_, {.has_qp0 = true, .lmc = 0}};
  std::vector<OpenId> opens_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> asked_;  ///< open, agent, transaction
  std::set<std::pair<std::uint32_t, std::uint32_t>> does_rmpp_itself_;       ///< open, agent; ever
  std::size_t sends_ = 0, timed_out_ = 0;
  std::uint64_t last_transaction_ = 0;  ///< that has come
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  if (in.take<std::uint8_t>() % 4 == 0) {
    check_datagram(in);
    return 0;
  }
  Driver driver;
  while (!in.empty()) driver.record(in);
  driver.finish();
  return 0;
}
