// Input: how a subnet manager is set up, and records, each something that happens to it in a small subnet:
// nodes answer its questions with other bytes than are so, late or not at all; links go down and come up;
// hosts send its administrator requests, confirm parts of answers, claim to be managers, and send traps and
// datagrams that make no sense; time goes by. Whatever they do: the manager is never without end busy, asks
// no more than its limits allow, its tables have no loops, and its registrations stay within bounds. When
// all tell the truth again, it brings up the whole subnet.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/check.h"
#include "mad/rmpp_header.h"
#include "mad/sa_header.h"
#include "mad/sm_info.h"
#include "subnet/manager.h"
#include "subnet/route_check.h"
#include "subnet/routing_engine.h"
#include "tests/unit/subnet/simulated_subnet.h"

using namespace softrnic;
using namespace softrnic::subnet;
using subnet::testing::milliseconds;
using subnet::testing::seconds;
using subnet::testing::SimPlace;

namespace {

constexpr std::size_t kMostRecords = 64;
constexpr std::size_t kMostNodes = 16, kMostPorts = 128;

constexpr std::uint16_t kAttributes[] = {
    mad::NodeInfo::kAttribute,           mad::NodeDescription::kAttribute,
    mad::SwitchInfo::kAttribute,         mad::PortInfo::kAttribute,
    mad::PKeyTable::kAttribute,          mad::LinearForwardingTable::kAttribute,
    mad::GuidInfo::kAttribute,           mad::MulticastForwardingTable::kAttribute,
    mad::SlToVlMappingTable::kAttribute, mad::VlArbitrationTable::kAttribute};
constexpr std::uint16_t kAnyAttribute = 0;

/// How answers are altered, as long as `times` is left.
struct Lie {
  std::uint16_t attribute = kAnyAttribute;
  int node = -1;  ///< any
  unsigned what = 0;
  std::size_t at = 0;
  std::vector<std::byte> bytes;
  unsigned times = 0;
};

ManagerOptions options_of(fuzz::Input& in) {
  const unsigned how = in.take<std::uint8_t>();
  ManagerOptions options;
  options.most_nodes = kMostNodes;
  options.most_ports = kMostPorts;
  options.requests.timeout = milliseconds(20);
  options.requests.retries = how % 3;
  options.polling_interval = seconds(1);
  options.polling_retries = 1;
  options.routing.engine = routing_engines()[how / 4 % routing_engines().size()];
  options.ports.m_key = how / 16 % 2 != 0 ? 5 : 0;
  options.qos = how / 32 % 2 != 0;
  options.lids.lmc = static_cast<std::uint8_t>(how / 64 % 2);
  if (how / 128 != 0) {
    Partition storage;
    storage.name = "storage";
    storage.number = 1;
    storage.rules = {{PortChoice::all, Guid{}, Membership::limited},
                     {PortChoice::self, Guid{}, Membership::both}};
    options.partitions.push_back(storage);
  }
  return options;
}

/// A triangle of switches with two, one and one hosts.
class World : public subnet::testing::SimulatedSubnet {
 public:
  explicit World(fuzz::Input& in) {
    for (int i = 0; i < 4; ++i) hosts_.push_back({add_host(), 1});
    for (int i = 0; i < 3; ++i) switches_.push_back(add_switch(5));
    for (const int host : {0, 1}) cable(switches_[0], host);
    cable(switches_[1], 2);
    cable(switches_[2], 3);
    for (int i = 0; i < 3; ++i) cable(switches_[static_cast<std::size_t>(i)], switches_[(i + 1U) % 3]);
    tamper = [this](SimPlace place, mad::Smp& smp) { alter(place, smp); };
    stranger_ = &add_endpoint(hosts_[1]);
    const bool claims = in.take<std::uint8_t>() % 2 != 0;
    if (claims) at(hosts_[1]).info.capability_mask |= mad::port_capability::kIsSm;
    manager_ = &add_manager(hosts_[0], options_of(in));
    began_ = now;
  }

  void record(fuzz::Input& in) {
    const unsigned what = in.take<std::uint8_t>();
    const unsigned which = in.take<std::uint8_t>();
    act(what, which, in);
    check();
  }

  /// All nodes tell the truth from now on.
  void recover() {
    lies_.clear();
    for (subnet::testing::SimNode& each : nodes) forget_m_key(each);
    for (auto& [place, up] : links_down_)
      if (up) set_link(place, true);
    at(hosts_[1]).info.capability_mask &= ~std::uint32_t{mad::port_capability::kIsSm};
    if (manager_->state() == mad::SmState::not_active) command(mad::SmInfo::Control::standby);
    run(seconds(20));  // a master that was believed in is silent now
    manager_->request_sweep();
    run(seconds(20));
    check();
    FUZZ_CHECK(manager_->is_up() && manager_->is_idle());
    for (const SimPlace from : hosts_)
      for (const SimPlace to : hosts_) FUZZ_CHECK(from == to || reaches(from, to));
    FUZZ_CHECK(complaints_in_the_next_sweep() == 0);
  }

 private:
  void act(unsigned what, unsigned which, fuzz::Input& in) {
    switch (what % 10) {
      case 0:
        return lie(which, in);
      case 1:
        return run(milliseconds(which));
      case 2:
        return switch_link(which);
      case 3:
        return ask_administrator(which, in);
      case 4:
        return answer_as_stranger(which, in);
      case 5:
        return receive(which, in);
      case 6:
        manager_->set_priority(static_cast<std::uint8_t>(which));
        return manager_->request_sweep();
      case 7:
        return command(static_cast<mad::SmInfo::Control>(which % 6));
      case 8:
        return trap(which, in);
      default:
        return run(milliseconds(which * 20));
    }
  }

  // ---- nodes that lie

  void lie(unsigned which, fuzz::Input& in) {
    if (lies_.size() >= 16) lies_.erase(lies_.begin());
    Lie made;
    const std::size_t attribute = which % (std::size(kAttributes) + 1);
    made.attribute = attribute < std::size(kAttributes) ? kAttributes[attribute] : kAnyAttribute;
    made.node = which / 16 % 8 == 7 ? -1 : static_cast<int>(which / 16 % 8);
    made.what = in.take<std::uint8_t>();
    made.at = in.take<std::uint8_t>() % mad::kSmpDataBytes;
    made.times = 1U + in.take<std::uint8_t>();
    const Bytes bytes = in.take_bytes(std::min<std::size_t>(made.what / 8, mad::kSmpDataBytes - made.at));
    made.bytes.assign(bytes.begin(), bytes.end());
    lies_.push_back(std::move(made));
  }
  void alter(SimPlace place, mad::Smp& smp) {
    for (Lie& each : lies_) {
      if (each.times == 0 || (each.node >= 0 && each.node != place.node)) continue;
      if (each.attribute != kAnyAttribute && each.attribute != smp.attribute) continue;
      --each.times;
      alter(each, smp);
    }
  }
  static void alter(const Lie& lie, mad::Smp& smp) {
    switch (lie.what % 8) {
      case 0:
        smp.status = static_cast<std::uint16_t>(lie.at);
        return;
      case 1:
        ++smp.transaction;
        return;
      case 2:
        smp.attribute = kAttributes[lie.at % std::size(kAttributes)];
        return;
      case 3:
        smp.modifier += static_cast<std::uint32_t>(lie.at);
        return;
      default:
        std::copy(lie.bytes.begin(), lie.bytes.end(), smp.data.begin() + static_cast<std::ptrdiff_t>(lie.at));
        return;
    }
  }
  /// What a node says of its port is written back to it with another state: a lie can lock the liar up, and
  /// no other. Somebody has switched it off and on.
  static void forget_m_key(subnet::testing::SimNode& liar) {
    liar.m_key = 0;
    for (subnet::testing::SimPort& port : liar.ports) port.info.m_key = 0;
  }
  void switch_link(unsigned which) {
    const SimPlace place{switches_[which % 3], static_cast<int>(1 + which / 4 % 4)};
    if (at(place).peer.node < 0) return;
    const SimPlace cable = std::min(place, at(place).peer);
    bool& is_down = links_down_[cable];
    set_link(cable, is_down);
    is_down = !is_down;
  }

  // ---- hosts that send what they like

  DatagramAddress address(unsigned which, fuzz::Input& in) {
    DatagramAddress from{.lid = Lid(lid_of(hosts_[which % 4])), .qpn = Qpn(1)};
    if (which / 16 % 8 == 7) from.lid = Lid(in.take<std::uint16_t>());
    if (which / 4 % 4 == 3) from.qpn = Qpn(in.take<std::uint8_t>());
    from.has_grh = which >= 0xf0;
    if (from.has_grh) from.gid.raw[15] = in.take<std::byte>();
    return from;
  }
  void ask_administrator(unsigned which, fuzz::Input& in) {
    mad::Mad mad{};
    mad::Header header{.management_class = mad::ManagementClass::subnet_administration, .class_version = 2};
    const DatagramAddress from = address(which, in);
    header.method = in.take<mad::Method>();
    header.attribute = in.take<std::uint8_t>();
    const unsigned how = in.take<std::uint8_t>();
    header.transaction = how % 4;
    if (how / 4 % 16 == 15) header.modifier = in.take<std::uint32_t>();
    mad::encode_header(header, mad);
    if (how / 64 == 1) {
      mad::encode_rmpp({.type = static_cast<mad::RmppType>(in.take<std::uint8_t>() % 6),
                        .last = true,
                        .first = true,
                        .active = true,
                        .segment_number = 1,
                        .payload_length = in.take<std::uint8_t>()},
                       mad);
    }
    mad::SaHeader sa{.sm_key = how / 64 == 2 ? std::uint64_t{1} : std::uint64_t{0}};
    sa.component_mask = in.take<std::uint64_t>();
    mad::encode(sa, std::span(mad).subspan(mad::kSaHeaderOffset));
    const Bytes record = in.take_bytes(in.take<std::uint8_t>() % (mad::kSaDataBytes + 1));
    std::copy(record.begin(), record.end(), mad.begin() + mad::kSaDataOffset);
    manager_->receive(from, mad, now);
  }
  /// To what has come to the host that claims to be a manager.
  void answer_as_stranger(unsigned which, fuzz::Input& in) {
    auto& received = stranger_->received;
    if (received.empty()) return;
    auto [from, mad] = received.back();
    received.pop_back();
    received.resize(std::min<std::size_t>(received.size(), 64));
    from.lid = Lid(lid_of(hosts_[1]));
    const auto header = mad::parse_header(mad);
    if (!header) return;
    mad[3] ^= std::byte{0x80};
    if (header->attribute == mad::SmInfo::kAttribute) {
      auto smp = mad::decode<mad::Smp>(mad);
      smp.returning = smp.is_directed();
      smp.data = {};
      mad::encode(info_of(which), smp.data);
      mad = mad::encoded(smp);
      from = {};
    } else if (mad::decode_rmpp(mad).active) {
      mad::encode_rmpp({.type = static_cast<mad::RmppType>(which % 8 == 7 ? 4 : 2),
                        .response_time = static_cast<std::uint8_t>(which / 8),
                        .active = true,
                        .status = static_cast<mad::RmppStatus>(which / 64 == 3 ? in.take<std::uint8_t>() : 0),
                        .segment_number = in.take<std::uint8_t>(),
                        .payload_length = in.take<std::uint16_t>()},
                       mad);
    }
    manager_->receive(from, mad, now);
  }
  mad::SmInfo info_of(unsigned which) {
    return {.guid = mad::Guid(port_guid(hosts_[1])),
            .sm_key = which / 64 != 3 ? std::uint64_t{1} : std::uint64_t{0},
            .priority = static_cast<std::uint8_t>(which % 16),
            .state = static_cast<mad::SmState>(which / 16 % 4)};
  }
  void command(mad::SmInfo::Control control) {
    mad::Smp smp;
    smp.method = mad::Method::set;
    smp.attribute = mad::SmInfo::kAttribute;
    smp.modifier = static_cast<std::uint32_t>(control);
    mad::SmInfo info = info_of(0);
    info.state = control == mad::SmInfo::Control::acknowledge ? mad::SmState::standby : mad::SmState::master;
    mad::encode(info, smp.data);
    manager_->receive({.lid = Lid(lid_of(hosts_[1]))}, mad::encoded(smp), now);
  }
  void trap(unsigned which, fuzz::Input& in) {
    mad::Smp smp;
    smp.method = mad::Method::trap;
    smp.attribute = mad::Notice::kAttribute;
    mad::Notice notice;
    notice.type = mad::NoticeType::urgent;
    notice.trap_number = in.take<std::uint16_t>();
    notice.issuer_lid = Lid(lid_of(hosts_[which % 4]));
    mad::encode(notice, smp.data);
    const Bytes details = in.take_bytes(which / 8);
    std::copy(details.begin(), details.end(), smp.data.begin() + 10);
    manager_->receive({.lid = which % 8 == 7 ? Lid(in.take<std::uint16_t>()) : notice.issuer_lid},
                      mad::encoded(smp), now);
  }
  void receive(unsigned which, fuzz::Input& in) {
    mad::Mad mad{};
    const Bytes bytes = in.take_bytes(mad::kMadBytes);
    std::copy(bytes.begin(), bytes.end(), mad.begin());
    DatagramAddress from = address(which, in);
    if (which % 2 != 0) from.qpn = kSmiQpn;
    manager_->receive(from, mad, now);
  }

  // ---- what holds

  void check() {
    manager_->advance(now);
    FUZZ_CHECK(manager_->deadline() > now);
    for (const Event& event : log(hosts_[0]).events) FUZZ_CHECK(!to_string(event).empty());
    log(hosts_[0]).events.clear();
    FUZZ_CHECK(manager_->groups().all().size() <= MulticastGroups::kMostGroups);
    FUZZ_CHECK(manager_->administrator().transfers().size() <= 2 * SaTransfers::kMost);
    // All tables of all ports that there may be, once a sweep.
    constexpr std::uint64_t kOfSweep = 768 * kMostNodes + 200 * kMostPorts;
    const auto sweeps = static_cast<std::uint64_t>((now - began_) / milliseconds(100)) + kMostRecords;
    FUZZ_CHECK(manager_->counters().requests <= kOfSweep * sweeps);
    if (manager_->is_up() && manager_->is_idle()) check_database();
  }
  void check_database() {
    const SubnetDatabase& database = manager_->database();
    const Graph& graph = database.graph();
    FUZZ_CHECK(database.subnet.nodes().size() <= kMostNodes && graph.port_count() <= kMostPorts);
    FUZZ_CHECK(database.routing.tables.switches() == graph.switches().size());
    for (std::uint32_t i = 0; i < graph.end_ports().size(); ++i) {
      const EndPort& port = graph.at(EndPortId(i));
      for (unsigned lid = 0; lid < port.lids(); ++lid) {
        FUZZ_CHECK(port.lid(lid).is_unicast());
        FUZZ_CHECK(graph.owner_of(port.lid(lid)) == EndPortId(i));
      }
    }
    const RouteReport report = check_routes(graph, database.routing.tables);
    for (const RouteEnd bad : {RouteEnd::loop, RouteEnd::no_link, RouteEnd::wrong_end_port})
      FUZZ_CHECK(report.ends[static_cast<std::size_t>(bad)] == 0);
  }
  std::size_t complaints_in_the_next_sweep() {
    complaints.clear();
    const std::uint64_t before = sets;
    manager_->request_sweep();
    run(seconds(2));
    FUZZ_CHECK(sets == before);  // all is as it has to be
    return complaints.size();
  }

  std::vector<SimPlace> hosts_;
  std::vector<int> switches_;
  Host* stranger_ = nullptr;
  Manager* manager_ = nullptr;
  std::vector<Lie> lies_;
  std::map<SimPlace, bool> links_down_;
  TimePoint began_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  World world(in);
  for (std::size_t i = 0; i < kMostRecords && !in.empty(); ++i) world.record(in);
  world.recover();
  return 0;
}
