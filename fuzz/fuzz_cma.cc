// Input: records, each a call of a program to its connection manager, an answer of the host's route table, a
// change of its devices, some time, or a datagram of a peer (cma_peers.h). Whatever their order: no event
// tells of an id that is over, an id that the program knows ends by its own will alone, the counts of fetched
// events agree with what was fetched (who destroys an id waits for as many acknowledgements), who connects or
// resolves hears of an end, and nothing is left.
#include <cerrno>
#include <map>
#include <set>

#include "base/reason_id.h"
#include "cma/manager.h"
#include "fuzz/cma_peers.h"
#include "fuzz/no_infiniband.h"
#include "fuzz/no_streams.h"

using namespace softrnic;
using namespace softrnic::fuzz;
using cma::ChannelNumber, cma::IdNumber;
namespace {

class Host final : public NoInfiniband {
 public:
  TimePoint now() override { return time; }
  std::uint32_t random_number() override { return ++number_; }  // small, so that inputs can name them
  void send(const mad::Address&, Bytes mad) override {
    const auto header = mad::parse_header(mad);
    FUZZ_CHECK(header && header->management_class == mad::ManagementClass::communication);
    peers.heard(mad);
  }
  void resolve(IdNumber id, const cma::RouteQuery& query) override { probes[id] = query; }
  void cancel_resolve(IdNumber id) override { FUZZ_CHECK(probes.erase(id) <= 1); }
  void event_queued(ChannelNumber channel) override { ++posts[channel]; }
  void explain(const Reason& reason, const mad::Address&) override { FUZZ_CHECK(!describe(reason).empty()); }

  TimePoint time{std::chrono::seconds(1)};
  Peers peers;
  std::map<IdNumber, cma::RouteQuery> probes;  ///< not answered yet
  std::map<ChannelNumber, std::size_t> posts;

 private:
  std::uint32_t number_ = 0;
};

class Driver {
 public:
  Driver() {
    change_devices(3);
    open_channel();
  }
  void record(Input& in);
  void finish();

 private:
  // ---- what inputs name
  template <typename Number>
  static Number pick(const std::vector<Number>& of, unsigned which) {
    return which < 0xe0 && !of.empty() ? of[which % of.size()] : which - 0xe0;  // or a guess
  }
  IdNumber id(unsigned which) const { return pick(ids_, which); }
  ChannelNumber channel(unsigned which) const { return pick(channels_, which); }
  bool is_open(ChannelNumber number) const { return std::ranges::count(channels_, number) != 0; }

  // ---- the program
  void call(unsigned what, unsigned a, unsigned b, unsigned c);
  void call_more(unsigned what, unsigned a, unsigned b, unsigned c);
  void open_channel() {
    if (channels_.size() < 8) channels_.push_back(manager_.open_channel());
  }
  void create(unsigned on, unsigned how);
  void destroy(IdNumber number);
  void connect(IdNumber number, unsigned how);
  void accept(IdNumber number, unsigned how);
  void resolve(IdNumber number, unsigned from, unsigned to);
  void set_option(IdNumber number, unsigned which, unsigned value);
  void join(IdNumber number, unsigned group);
  void leave(unsigned which);
  void migrate(IdNumber number, ChannelNumber to);
  void close(ChannelNumber number);
  bool fetch(ChannelNumber number);
  void fetch_all();

  // ---- its world
  void befall(unsigned what, unsigned a, unsigned b, Input& in);
  void answer(unsigned which);
  void change_devices(unsigned which);
  void pass(Duration time);
  void pass_all();

  std::set<IdNumber> alive() const {
    std::set<IdNumber> out;
    for (IdNumber number = manager_.next_id(0); number != 0; number = manager_.next_id(number))
      out.insert(number);
    return out;
  }
  void check_known() const {
    for (const IdNumber number : known_) FUZZ_CHECK(manager_.view(number).has_value());
  }
  void is_over(IdNumber number) {
    known_.erase(number);
    waiting_.erase(number);
    over_.insert(number);
  }
  template <typename Result>
  static bool worked(const Result& result) {
    if (result) return true;
    FUZZ_CHECK(result.error().error > 0 && !describe(result.error().reason).empty());
    return false;
  }

  Host host_;
  NoStreams streams_;
  cma::Manager manager_{host_, streams_, 0xa};
  std::vector<IdNumber> ids_;  ///< that the program ever knew
  std::vector<ChannelNumber> channels_;
  std::vector<cma::MembershipNumber> memberships_;
  std::set<IdNumber> known_;    ///< alive as far as the program knows
  std::set<IdNumber> over_;     ///< destroyed, or with a channel that was closed
  std::set<IdNumber> waiting_;  ///< for how resolving or connecting comes out
  std::map<IdNumber, std::uint32_t> fetched_;
  std::map<cma::MembershipNumber, std::uint32_t> fetched_of_;
  std::map<ChannelNumber, std::size_t> taken_;
};

void Driver::create(unsigned on, unsigned how) {
  static constexpr std::array kSpaces{RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB, RDMA_PS_IPOIB};
  const auto made = manager_.create({how, channel(on), static_cast<std::uint16_t>(kSpaces[how % 4]),
                                     static_cast<std::uint8_t>(IBV_QPT_RC + how / 4 % 4)});
  if (!worked(made)) return;
  FUZZ_CHECK(known_.insert(*made).second && !over_.contains(*made));
  ids_.push_back(*made);
}

void Driver::destroy(IdNumber number) {
  const bool known = known_.contains(number);
  const auto fetched = manager_.destroy(number);
  FUZZ_CHECK(worked(fetched) == known);
  if (!known) return;
  FUZZ_CHECK(*fetched == fetched_[number]);
  FUZZ_CHECK(!host_.probes.contains(number) && !manager_.view(number));
  is_over(number);
}

void Driver::close(ChannelNumber number) {
  const bool exists = is_open(number);
  std::vector<IdNumber> on;
  for (const IdNumber one : known_)
    if (manager_.channel_of(one) == number) on.push_back(one);
  FUZZ_CHECK(worked(manager_.close_channel(number)) == exists);
  std::erase(channels_, number);
  for (const IdNumber one : on) is_over(one);
}

void Driver::connect(IdNumber number, unsigned how) {
  cma::ConnectionParameters parameters;
  parameters.private_data.resize(how);
  parameters.qpn = how;
  parameters.retry_count = parameters.rnr_retry_count = how % 16;
  parameters.responder_resources = parameters.initiator_depth = static_cast<std::uint8_t>(how);
  if (worked(manager_.connect(number, parameters, {}))) waiting_.insert(number);
}

void Driver::accept(IdNumber number, unsigned how) {
  cma::ConnectionParameters parameters;
  parameters.private_data.resize(how / 2);
  parameters.qpn = how;
  using Given = std::optional<cma::ConnectionParameters>;
  (void)worked(manager_.accept(number, 1, how % 8 == 0 ? Given{} : Given{parameters}, {}));
}

void Driver::resolve(IdNumber number, unsigned from, unsigned to) {
  cma::SocketAddress source, destination = address_of(to);
  if (from < 0x80) source = address_of(from);
  destination.port = port_of(to / 16);
  if (worked(manager_.resolve_address(number, source, destination, std::chrono::seconds(1))))
    waiting_.insert(number);
}

void Driver::set_option(IdNumber number, unsigned which, unsigned value) {
  const int figure = static_cast<int>(value);
  const Bytes bytes = std::as_bytes(std::span(&figure, 1));
  const std::uint32_t level = which < 0xc0 ? RDMA_OPTION_ID : RDMA_OPTION_IB;
  (void)worked(manager_.set_option(number, level, which % 5, value % 2 != 0 ? bytes : bytes.first(1)));
}

void Driver::join(IdNumber number, unsigned group) {
  const auto joined = manager_.join_multicast(number, 7, group % 3, address_of(group));
  if (worked(joined)) memberships_.push_back(*joined);
}

void Driver::leave(unsigned which) {
  const cma::MembershipNumber membership = pick(memberships_, which);
  const IdNumber of = manager_.id_of(membership);
  const auto fetched = manager_.leave_multicast(membership);
  FUZZ_CHECK(worked(fetched) == known_.contains(of));
  if (fetched) FUZZ_CHECK(*fetched == fetched_of_[membership]);
}

void Driver::migrate(IdNumber number, ChannelNumber to) {
  const auto fetched = manager_.migrate(number, to);
  if (!worked(fetched)) return;
  FUZZ_CHECK(known_.contains(number) && *fetched == fetched_[number] && manager_.channel_of(number) == to);
}

/// Events that end what a program may be waiting for.
bool ends_a_wait(const cma::Event& event) {
  return event.kind != RDMA_CM_EVENT_CONNECT_REQUEST && event.kind != RDMA_CM_EVENT_MULTICAST_JOIN &&
         event.kind != RDMA_CM_EVENT_ADDR_CHANGE && event.kind <= RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

bool Driver::fetch(ChannelNumber number) {
  const auto event = manager_.next_event(number);
  if (!event) {  // or the program finds a channel readable that has nothing
    FUZZ_CHECK(!is_open(number) || taken_[number] + manager_.withdrawn(number) == host_.posts[number]);
    return false;
  }
  FUZZ_CHECK(++taken_[number] <= host_.posts[number]);  // or the program sleeps on
  FUZZ_CHECK(!over_.contains(event->id) && !over_.contains(event->listener));
  FUZZ_CHECK(manager_.view(event->id).has_value() && manager_.channel_of(event->id) == number);
  if (event->listener != 0) {
    FUZZ_CHECK(known_.contains(event->listener) && known_.insert(event->id).second);
    ids_.push_back(event->id);
  }
  FUZZ_CHECK(known_.contains(event->id));
  ++fetched_[event->listener != 0 ? event->listener : event->id];
  if (event->membership != 0) ++fetched_of_[event->membership];
  if (ends_a_wait(*event)) waiting_.erase(event->id);
  return true;
}

void Driver::fetch_all() {
  for (const ChannelNumber one : channels_)
    while (fetch(one)) continue;
}

void Driver::answer(unsigned which) {
  if (host_.probes.empty()) return;
  auto question = host_.probes.begin();
  std::advance(question, which % host_.probes.size());
  const auto [number, query] = *question;
  host_.probes.erase(question);
  if (which >= 0xc0)
    return manager_.resolved(number, Unexpected{refuse(EHOSTUNREACH, ReasonId::no_neighbour, 2)});
  const wire::Gid source = query.source.is_zero() ? address_of(which / 16).host : query.source;
  manager_.resolved(number, cma::Route{source, which % 2 != 0 ? 2U : 0U, 64});
}

/// Bit 0: the device of the network, bit 1: that of loopback, bit 2: another Ethernet address.
void Driver::change_devices(unsigned which) {
  std::vector<device::DeviceInfo> devices;
  const auto add = [&](std::uint32_t index, std::uint64_t guid, std::initializer_list<unsigned> addresses) {
    device::DeviceInfo& device = devices.emplace_back();
    device.index = index;
    device.guid = guid;
    device.interface_index = index + 1;
    device.port.up = true;
    device.port.active_mtu = 1024;
    for (const unsigned one : addresses) device.port.gids.push_back({address_of(one).host, index + 1});
  };
  if ((which & 1) != 0) add(1, (which & 4) != 0 ? 0x44 : 0x11, {0, 6, 8});
  if ((which & 2) != 0) add(2, 0x22, {3, 11});
  manager_.devices_changed(std::move(devices));
}

void Driver::pass(Duration time) {
  host_.time = manager_.deadline() == kNever ? host_.time + time : std::max(host_.time, manager_.deadline());
  manager_.advance();
}

void Driver::pass_all() {
  constexpr int kMostSteps = 200000;
  for (int steps = 0; manager_.deadline() != kNever; ++steps) {
    FUZZ_CHECK(steps < kMostSteps);
    pass({});
  }
}

void Driver::call(unsigned what, unsigned a, unsigned b, unsigned c) {
  cma::SocketAddress address = address_of(b);
  address.port = port_of(c);
  switch (what) {
    case 0:
      return open_channel();
    case 1:
      return close(channel(a));
    case 2:
    case 3:
      return create(a, b);
    case 4:
    case 5:
      return destroy(id(a));
    case 6:
      (void)worked(manager_.bind(id(a), address));
      break;
    case 7:
      return resolve(id(a), b, c);
    case 8:
      return answer(a);
    case 9:
      (void)worked(manager_.resolve_route(id(a), std::chrono::seconds(2)));
      break;
    case 10:
      (void)worked(manager_.listen(id(a), b));
      break;
    case 11:
      return connect(id(a), b);
    case 12:
    case 13:
      return accept(id(a), b);
    default:
      return call_more(what, a, b, c);
  }
}

void Driver::call_more(unsigned what, unsigned a, unsigned b, unsigned c) {
  switch (what) {
    case 14:
      if (worked(manager_.reject(id(a), cm::RejectReason::consumer_defined, {}))) waiting_.erase(id(a));
      break;
    case 15:
      (void)worked(manager_.disconnect(id(a)));
      break;
    case 16:
      (void)worked(manager_.notify(id(a), b % 2 != 0 ? IBV_EVENT_COMM_EST : IBV_EVENT_SQ_DRAINED));
      break;
    case 17:
      return set_option(id(a), b, c);
    case 18:
      (void)worked(manager_.init_qp_attributes(id(a), b % 8));
      break;
    case 19:
      return join(id(a), b);
    case 20:
      return leave(a);
    case 21:
      return migrate(id(a), channel(b));
    case 22:
      return (void)fetch(channel(a));
    case 23:
      return (void)worked(manager_.write_event(id(a), b % 32, -1, c));
    default:
      break;
  }
}

void Driver::befall(unsigned what, unsigned a, unsigned b, Input& in) {
  switch (what) {
    case 24:
      change_devices(a);
      break;
    case 25:
      pass(std::chrono::milliseconds(a));
      break;
    case 26:
      manager_.receive({.local = address_of(a).host, .remote = address_of(b).host},
                       in.take_bytes(mad::kMadBytes));
      break;
    default: {
      const Peers::Datagram datagram = host_.peers.make(in);
      manager_.receive(datagram.from, datagram.mad);
    }
  }
}

void Driver::record(Input& in) {
  constexpr unsigned kCalls = 24;
  const unsigned what = in.take<std::uint8_t>() % 32, a = in.take<std::uint8_t>();
  const unsigned b = in.take<std::uint8_t>(), c = in.take<std::uint8_t>();
  if (what < kCalls) {
    call(what, a, b, c);
  } else {
    befall(what, a, b, in);
  }
  check_known();
}

void Driver::finish() {
  while (!host_.probes.empty()) answer(0xff);  // the host keeps its deadlines
  pass_all();
  check_known();
  fetch_all();
  FUZZ_CHECK(waiting_.empty());
  for (const std::set<IdNumber> all = known_; const IdNumber one : all) destroy(one);
  for (const IdNumber one : alive()) FUZZ_CHECK(known_.contains(one));  // that is: none
  for (const ChannelNumber one : std::vector(channels_)) {
    FUZZ_CHECK(!fetch(one));
    close(one);
  }
  pass_all();
  FUZZ_CHECK(manager_.ids() == 0 && host_.probes.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Driver driver;
  while (!in.empty()) driver.record(in);
  driver.finish();
  return 0;
}
