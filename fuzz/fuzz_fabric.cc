// Input: records, each something that happens to a fabric of two switches, joined twice, and three hosts:
// hosts send packets, right ones and any bytes, by tables of which some lead in a circle; they send
// datagrams of management, by directed routes as well, to the firmware of all nodes, with any key, path and
// value; they take what comes or hold it; cables go, come, damage packets and lose flow control; time goes
// by. Whatever they do: buffers hold what is in them and no more, nothing comes out that was not sent,
// nothing twice, what ports say of themselves is so; and when the tables are empty and all cables are well,
// no packet is left and no credit lost.
#include <algorithm>
#include <map>
#include <vector>

#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "fuzz/check.h"
#include "mad/attributes.h"
#include "mad/forwarding_tables.h"
#include "mad/notice.h"
#include "mad/port_info.h"
#include "mad/smp.h"
#include "mad/switch_info.h"
#include "tests/unit/fabric/directed_smp.h"

using namespace softrnic;
using namespace softrnic::fabric;

namespace {

// From host 0 to each node: itself, switch 0, host 1, switch 1, host 2.
const Path kPaths[] = {{}, {1}, {1, 2}, {1, 3}, {1, 3, 1}};
constexpr std::uint16_t kLids[] = {1, 2, 3, 4, 5, 9, 0xc000, 0xc001, 0xffff, 0};
constexpr std::uint16_t kCircle = 9;
constexpr Duration kMicrosecond{1000};
constexpr std::uint8_t kSomeLifetime = 2;  ///< 16 µs
constexpr Limits kLimits{.packets = {.bytes = 4U << 20, .packets = 4096}, .ports = 64};

class World final : public EndportSink, private HostSink, private Dice {
 public:
  World() {
    constexpr BufferSizes kSizes{.data = kMaxPacketBlocks, .management = 16};
    for (std::size_t place = 0; place < std::size(kPaths); ++place) {
      nodes_.push_back(is_switch(place) ? *engine_.add_switch(4, kSizes) : *engine_.add_adapter(1, kSizes));
      add_firmware(nodes_.back(), is_switch(place) ? 4 : 1);
    }
    link(0, 1, 1, 1);
    link(2, 1, 1, 2);
    link(4, 1, 3, 1);
    link(1, 3, 3, 3);
    link(1, 4, 3, 4);
    advance(100 * kMicrosecond);
    set_up();
  }

  void record(fuzz::Input& in) {
    const unsigned what = in.take<std::uint8_t>();
    const unsigned which = in.take<std::uint8_t>();
    act(what, which, in);
    check();
  }

  /// Tables lead nowhere, hosts take everything, all is well with the cables, and lifetimes end the deadlocks
  /// of what went in a circle.
  void finish() {
    hosts_hold_ = false;
    for (const std::size_t place : {1, 3}) {
      clear_tables(*engine_.forwarding(nodes_[place]));
      engine_.set_lifetime(nodes_[place], kSomeLifetime);
    }
    for (const LinkId id : links_) {
      engine_.set_faults(id, {});
      engine_.set_connected(id, true);
    }
    for (const EnginePort& port : engine_.ports())
      if (port.is_external()) engine_.set_enabled(port.id, true);
    // Lost flow control is said again; datagrams that agents could not send before leave now.
    for (int i = 0; i < 50 && (i < 10 || engine_.packets().packets_in_use() != 0); ++i) {
      activate_all();
      for (const unsigned host : {0, 1, 2}) engine_.resume(port_of(host));
      advance(100 * kMicrosecond);
    }
    check();
    FUZZ_CHECK(engine_.packets().packets_in_use() == 0);
    for (const EnginePort& port : engine_.ports()) check_end(port);
  }

 private:
  // ---- what there is

  static bool is_switch(std::size_t place) { return place % 2 != 0; }
  PortId id_of(std::size_t place, std::uint8_t port) const { return engine_.port(nodes_[place], port)->id; }
  LinkId cable(unsigned which) const { return links_[which % links_.size()]; }
  PortId port_of(unsigned host) const { return id_of(2 * host, 1); }
  void add_firmware(NodeId id, std::uint8_t ports) {
    NodeProfile profile;
    profile.description = "node";
    profile.guid = profile.system_image_guid = mad::Guid(0x100 * (id.value + 1));
    for (std::uint64_t number = 0; number <= ports; ++number)
      profile.ports.push_back({.guid = mad::Guid(profile.guid.value + number)});
    FUZZ_CHECK(agents_.add(id, profile));
  }
  void link(std::size_t a, std::uint8_t port_a, std::size_t b, std::uint8_t port_b) {
    links_.push_back(*engine_.connect(id_of(a, port_a), id_of(b, port_b), {1, 1}, Duration(100)));
  }

  void set_up() {
    constexpr std::uint16_t kLidOf[] = {1, 4, 2, 5, 3};
    for (std::size_t place = 0; place < std::size(kPaths); ++place) {
      const std::uint8_t number = is_switch(place) ? 0 : 1;
      mad::PortInfo info = port_info_of(place, number);
      info.lid = wire::Lid(kLidOf[place]);
      info.master_sm_lid = wire::Lid(1);
      set(place, info, number);
      if (is_switch(place)) set_tables(place);
    }
    activate_all();
    advance(100 * kMicrosecond);
    check();
    FUZZ_CHECK(agents_.port(port_of(2))->info.lid == wire::Lid(3));
  }
  void set_tables(std::size_t place) {
    const bool first = place == 1;
    mad::LinearForwardingTable linear;
    linear.ports.fill(ForwardingTables::kNoPort);
    linear.ports[1] = first ? 1 : 3;
    linear.ports[2] = first ? 2 : 3;
    linear.ports[3] = first ? 3 : 1;
    linear.ports[4] = first ? 0 : 4;
    linear.ports[5] = first ? 4 : 0;
    linear.ports[kCircle] = first ? 3 : 4;
    set(place, linear, 0);
    mad::MulticastForwardingTable multicast;
    multicast.port_masks[0] = first ? 0b01110 : 0b01010;
    multicast.port_masks[1] = 0b11110;  // in a circle
    set(place, multicast, 0);
    mad::SwitchInfo info = agents_.node(nodes_[place])->switch_info;
    info.linear_fdb_top = kCircle;
    set(place, info, 0);
  }
  static void clear_tables(ForwardingTables& tables) {
    using Tables = ForwardingTables;
    tables.set_linear_top(0);
    tables.set_default_multicast(Tables::kNoPort, Tables::kNoPort);
    constexpr std::array<std::uint16_t, Tables::kMulticastBlock> kNothing{};
    for (std::uint16_t block = 0; block < Tables::kMulticastBlocks; ++block)
      if (tables.multicast_block(block, 0) != kNothing) tables.set_multicast_block(block, 0, kNothing);
  }
  void activate_all() {
    for (const PortState state : {PortState::armed, PortState::active})
      for (const EnginePort& port : engine_.ports())
        if (port.is_external()) engine_.set_state(port.id, state);
  }

  /// As a manager that changes nothing writes it.
  mad::PortInfo port_info_of(std::size_t place, std::uint8_t number) const {
    mad::PortInfo info = agents_.port(id_of(place, number))->info;
    info.port_state = mad::PortState::no_change;
    info.port_physical_state = mad::PortPhysicalState::no_change;
    info.link_width_enabled = info.link_speed_enabled = info.link_speed_ext_enabled = 0;
    return info;
  }
  template <typename M>
  void set(std::size_t place, const M& value, std::uint32_t modifier) {
    mad::Smp smp = directed(kPaths[place]);
    smp.method = mad::Method::set;
    smp.attribute = M::kAttribute;
    smp.modifier = modifier;
    mad::encode(value, smp.data);
    send_smp(0, smp, wire::kPermissiveLid);
    advance(10 * kMicrosecond);
  }
  void send_smp(unsigned host, const mad::Smp& smp, wire::Lid dlid) {
    Datagram datagram;
    datagram.dlid = dlid;
    datagram.mad = mad::encoded(smp);
    agents_.send(port_of(host), datagram);
  }

  // ---- what happens

  void act(unsigned what, unsigned which, fuzz::Input& in) {
    const unsigned host = which % 3;
    switch (what % 11) {
      case 0:
        return send_packet(host, in);
      case 1:
        return send(host, in.take_bytes(in.take<std::uint16_t>() % 512));
      case 2:
        return ask(host, which / 4, in);
      case 3:
        return change_port(which, in);
      case 4:
        return send_datagram(host, which / 4, in);
      case 5:
        return advance(Duration(which * 100));
      case 6:
        return void(engine_.set_connected(cable(which), !engine_.link(cable(which))->connected));
      case 7:
        return void(engine_.set_faults(cable(which), {which / 16 % 4 / 4.0, which / 64 / 4.0}));
      case 8:
        hosts_hold_ = which >= 128;
        takes_datagrams_ = which / 64 % 2 == 0;
        return engine_.resume(port_of(host));
      case 9:
        return tell_firmware(host, which, in);
      default:  // timers of traps and samples; what circles meanwhile teaches nothing
        if (engine_.packets().packets_in_use() == 0) advance(Duration(which * 10'000'000));
        return;
    }
  }

  void send(unsigned host, Bytes bytes) {
    if (!engine_.send(port_of(host), bytes)) return;
    ++sent_[without_vl(bytes)];
  }
  void send_packet(unsigned host, fuzz::Input& in) {
    const unsigned how = in.take<std::uint8_t>();
    const unsigned where = in.take<std::uint8_t>();
    constexpr std::size_t kHeaders = wire::kLrhBytes + wire::kBthBytes;
    std::vector<std::byte> bytes(kHeaders + 8 + 4 + (how >= 0xf0 ? 4096 : how * 4));
    wire::LinkHeader header;
    header.sl = static_cast<std::uint8_t>(where / 16);
    header.dlid = wire::Lid(kLids[where % std::size(kLids)]);
    header.slid = wire::Lid(static_cast<std::uint16_t>(host + 1));
    header.packet_length = static_cast<std::uint16_t>(bytes.size() / 4);
    wire::encode_link_header(header, std::span(bytes).first<wire::kLrhBytes>());
    store_be16(&bytes[10], in.take<std::uint8_t>() < 0xf0 ? 0xffff : 0x7fff);
    store_be24(&bytes[13], 7);
    store_be32(&bytes[kHeaders], ++packets_);  // so that each is another
    send(host, bytes);
  }

  /// A request of subnet management, right in its form or not.
  void ask(unsigned host, unsigned how, fuzz::Input& in) {
    mad::Smp smp = directed(kPaths[how % std::size(kPaths)]);
    const unsigned attribute = in.take<std::uint8_t>();
    smp.method = attribute >= 0x80 ? mad::Method::set : mad::Method::get;
    const auto known = mad::attributes_of(mad::ManagementClass::subnet_lid_routed);
    smp.attribute = known[attribute % 0x80 % known.size()].id;
    smp.modifier = in.take<std::uint8_t>();
    const unsigned more = in.take<std::uint8_t>();
    if ((more & 1) != 0) smp.modifier |= std::uint32_t{in.take<std::uint16_t>()} << 16;
    if ((more & 2) != 0) smp.m_key = in.take<std::uint8_t>();
    if ((more & 4) != 0) smp.management_class = mad::ManagementClass::subnet_lid_routed;
    if ((more & 8) != 0) smp.method = in.take<mad::Method>();
    if ((more & 16) != 0) {  // of any route
      smp.hop_pointer = in.take<std::uint8_t>();
      smp.hop_count = in.take<std::uint8_t>();
      smp.dr_slid = wire::Lid(in.take<std::uint16_t>());
      smp.dr_dlid = wire::Lid(in.take<std::uint16_t>());
      smp.returning = (more & 32) != 0;
      const Bytes path = in.take_bytes(in.take<std::uint8_t>() % 16);
      for (std::size_t i = 0; i < path.size(); ++i)
        smp.initial_path[i] = smp.return_path[15 - i] = std::to_integer<std::uint8_t>(path[i]);
    }
    const Bytes data = in.take_bytes(in.take<std::uint8_t>() % (mad::kSmpDataBytes + 1));
    std::copy(data.begin(), data.end(), smp.data.begin());
    const bool is_routed = (more & 4) != 0;
    send_smp(host, smp, is_routed ? wire::Lid(kLids[more / 64]) : wire::kPermissiveLid);
  }
  /// A Set of PortInfo that changes a few bytes.
  void change_port(unsigned which, fuzz::Input& in) {
    const std::size_t place = which % std::size(kPaths);
    const auto number = static_cast<std::uint8_t>(is_switch(place) ? which / 8 % 5 : 1);
    auto data = mad::encoded(port_info_of(place, number));
    for (unsigned i = 0; i <= which / 64; ++i) {
      const auto at = in.take<std::uint8_t>() % data.size();
      data[at] = in.take<std::byte>();
    }
    set(place, mad::decode<mad::PortInfo>(data), number);
  }
  void send_datagram(unsigned host, unsigned how, fuzz::Input& in) {
    Datagram datagram;
    datagram.dlid = wire::Lid(kLids[how % std::size(kLids)]);
    datagram.source = datagram.destination = how >= 60 ? kSmiQpn : kGsiQpn;
    datagram.q_key = kGsiQkey;
    mad::Header header{.management_class = mad::ManagementClass::performance, .class_version = 1};
    header.method = in.take<mad::Method>();
    header.attribute = in.take<std::uint8_t>();
    mad::encode_header(header, datagram.mad);
    const Bytes data = in.take_bytes(in.take<std::uint8_t>());
    std::copy_n(data.begin(), std::min<std::size_t>(data.size(), 192), datagram.mad.begin() + 64);
    if (how % 16 == 15)
      std::copy_n(data.begin(), std::min<std::size_t>(data.size(), 24), datagram.mad.begin());
    agents_.send(port_of(host), datagram);
  }
  /// What drivers tell it.
  void tell_firmware(unsigned host, unsigned which, fuzz::Input& in) {
    const PortId port = port_of(host);
    const mad::BadKeyDetails details{.key = in.take<std::uint32_t>()};
    const unsigned what = which / 4 % 4;
    if (what == 0) agents_.set_sm(port, which >= 128);
    if (what == 1) agents_.set_description(nodes_[2 * host], which >= 128 ? "this" : "that");
    if (what == 2) agents_.report_bad_p_key(port, details);
    if (what == 3) agents_.report_bad_q_key(port, details);
  }

  void advance(Duration time) {
    const TimePoint end = engine_.now() + time;
    // A step takes the time of a packet on a cable, or more.
    for (std::size_t steps = 100'000;; --steps) {
      FUZZ_CHECK(steps > 0);
      const TimePoint next = std::min(engine_.next_deadline(), agents_.next_deadline());
      if (next > end) break;
      engine_.advance(std::max(next, engine_.now()), 1024);
      agents_.advance(engine_.now());
    }
    engine_.advance(end);
  }

  // ---- what comes out

  static std::vector<std::byte> without_vl(Bytes bytes) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    copy[0] &= std::byte{0x0f};
    return copy;
  }
  bool on_packet(PortId port, const Packet& packet) override {
    FUZZ_CHECK(engine_.port(port)->internal->external != nullptr);
    if (hosts_hold_) return false;
    const Bytes bytes = packet.bytes();
    FUZZ_CHECK(bytes.size() == packet.length && bytes.size() <= kMaxPacketBytes);
    const auto found = sent_.find(without_vl(bytes));
    if (packet.is_for_agents() && found == sent_.end()) return true;  // the firmware's
    FUZZ_CHECK(found != sent_.end());
    if (packet.dlid.is_multicast()) return true;
    FUZZ_CHECK(found->second > 0);
    --found->second;
    return true;
  }
  void on_room(PortId) override {}
  bool on_datagram(PortId endport, const Datagram& datagram) override {
    FUZZ_CHECK(agents_.port(endport) != nullptr && datagram.destination.value <= 1);
    return takes_datagrams_;
  }
  void on_event(PortId, PortEvent) override {}
  void on_trained(PortId, const TrainedLink&) override {}
  double roll() override { return (dice_ = dice_ * 1103515245 + 12345) / 4294967296.0; }

  // ---- what holds

  void check() const {
    const PacketPool& pool = engine_.packets();
    FUZZ_CHECK(pool.packets_in_use() <= kLimits.packets.packets &&
               pool.bytes_taken() <= kLimits.packets.bytes);
    for (const EnginePort& port : engine_.ports()) {
      check_buffers(port);
      if (const ManagedPort* const managed = agents_.port(port.id)) check_info(port, *managed);
    }
  }
  static void check_buffers(const EnginePort& port) {
    for (std::uint8_t vl = 0; vl < kVls; ++vl) {
      std::size_t used = 0;
      for (const Packet* packet = port.in[vl].head; packet != nullptr; packet = packet->next)
        used += packet->blocks;
      FUZZ_CHECK(used == port.in[vl].used && used <= port.in[vl].size);
    }
  }
  static void check_info(const EnginePort& port, const ManagedPort& managed) {
    const mad::PortInfo& info = managed.info;
    if (port.is_external()) FUZZ_CHECK(info.port_state == port.state);
    FUZZ_CHECK(info.neighbor_mtu <= info.mtu_cap && info.operational_vls <= info.vl_cap);
    FUZZ_CHECK(info.lid.is_reserved() || info.lid.is_unicast());
    FUZZ_CHECK(port.attributes.neighbor_mtu <= kMaxMtu && port.attributes.operational_vls <= kDataVls);
    FUZZ_CHECK(port.attributes.lmc <= 7);
  }
  static void check_end(const EnginePort& port) {
    FUZZ_CHECK(port.bids == 0 && port.ready == 0 && port.under_way == 0);
    if (port.link == nullptr || !port.link->up) return;
    for (std::uint8_t vl = 0; vl < kDataVls; ++vl)
      FUZZ_CHECK(port.out[vl].credit.available() == port.peer->in[vl].size);
  }

  NodeAgents agents_{engine_, this};
  Engine engine_{kLimits, {&agents_, this, nullptr, this}};
  std::vector<NodeId> nodes_;  ///< by place in kPaths: hosts 0, 2, 4, switches 1, 3
  std::vector<LinkId> links_;
  std::map<std::vector<std::byte>, unsigned> sent_;  ///< how often, less what came
  std::uint32_t packets_ = 0;
  std::uint32_t dice_ = 1;
  bool hosts_hold_ = false;
  bool takes_datagrams_ = true;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  World world;
  for (int i = 0; i < 128 && !in.empty(); ++i) world.record(in);
  world.finish();
  return 0;
}
