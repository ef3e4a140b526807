#include "tests/sim/cm/node.h"

#include <array>

#include "cm/messages.h"
#include "tests/sim/cm/attacker.h"
#include "tests/sim/cm/world.h"

namespace softrnic::sim::cm_world {
namespace {

using cm::EventKind;
using cm::Id;

constexpr cm::ServiceId kNobody(0x1060001);
// Short, so that a run is short: 17 ms for an answer, 2 ms for a packet's life.
constexpr std::uint8_t kResponseTimeout = 12;
constexpr std::uint8_t kAckTimeout = 10;

std::array<std::byte, 8> bytes_of(std::uint64_t token) {
  std::array<std::byte, 8> bytes;
  store_be64(bytes.data(), token);
  return bytes;
}

cm::Path path_between(std::size_t from, std::size_t to) {
  cm::Path path;
  path.local = gid_of(from);
  path.remote = gid_of(to);
  path.mtu = 3;
  path.ack_timeout = kAckTimeout;
  return path;
}

}  // namespace

wire::Gid gid_of(std::size_t node) {
  return wire::Gid::from_ipv4_be(static_cast<std::uint32_t>(node + 1) << 24 | 0x0a);
}
std::size_t node_of(const wire::Gid& gid) { return (gid.ipv4_be() >> 24) - 1; }

Node::Node(World& world, std::size_t index) : world_(world), index_(index) { start(); }

void Node::start() {
  manager_ = std::make_unique<cm::Manager>(*this, 0x1000 + index_, kLimits);
  if (!manager_->listen(kService)) world_.fail("listen failed");
}

void Node::send(const mad::Address& to, Bytes mad) {
  const auto message = static_cast<cm::Message>(load_be16(&mad[16]));
  const std::uint32_t id = load_be32(&mad[mad::kHeaderBytes]);
  const bool again = !said_.emplace(static_cast<std::uint32_t>(message), id).second;
  const Mutant mutant = world_.mutant_of(index_);
  if (mutant == Mutant::answers_rep_once && message == cm::Message::rtu && again) return;
  if (mutant == Mutant::answers_dreq_once && message == cm::Message::drep && again) return;
  if (mutant == Mutant::forgets_requests && message == cm::Message::req && again) {
    mad::Mad changed;
    std::copy(mad.begin(), mad.end(), changed.begin());
    store_be32(&changed[mad::kHeaderBytes], id + 1);
    store_be24(&changed[mad::kHeaderBytes + 32], 0xabcdef);
    return world_.post(index_, to, changed);
  }
  peers_[id] = to.remote;
  if (mutant == Mutant::amplifies && message == cm::Message::rep) {
    for (int i = 0; i < 3; ++i) world_.post(index_, to, mad);
  }
  world_.post(index_, to, mad);
}

void Node::receive(mad::Address from, Bytes mad) {
  const Mutant mutant = world_.mutant_of(index_);
  if (mutant == Mutant::hears_anybody && mad.size() == mad::kMadBytes) be_credulous(from, mad);
  manager_->receive(from, mad, world_.now());
  if (mutant == Mutant::ends_stale_ones && mad.size() == mad::kMadBytes) end_what_seems_stale(mad);
  if (manager_->size() > kLimits.connections) world_.fail("too many ids");
}

// The IDs suffice, whoever knows them.
void Node::be_credulous(mad::Address& from, Bytes mad) {
  const auto message = static_cast<cm::Message>(load_be16(&mad[16]));
  if (message == cm::Message::req || message >= cm::Message::sidr_req) return;
  const auto peer = peers_.find(load_be32(&mad[mad::kHeaderBytes + 4]));
  if (peer != peers_.end()) from.remote = peer->second;
}

// A REQ ends the connection that its queue pair has, whoever sent it.
void Node::end_what_seems_stale(Bytes mad) {
  if (load_be16(&mad[16]) != static_cast<std::uint16_t>(cm::Message::req)) return;
  const auto req = cm::decode<cm::Req>(mad);
  const std::uint64_t token = load_be64(req.private_data.data());
  const auto [known, first] = connected_.try_emplace({req.ca_guid, req.qpn.value}, token);
  if (known->second == token) return;
  for (const auto& [id, side] : sides_) {
    if (!side.active && side.alive() && side.token == known->second)
      (void)manager_->disconnect(Id(id), {}, world_.now());
  }
}

std::uint32_t Node::random_number() { return static_cast<std::uint32_t>(world_.rng().next()); }

Side* Node::live(Id id) {
  const auto found = sides_.find(id.value);
  return found == sides_.end() || found->second.destroyed ? nullptr : &found->second;
}

const Side* Node::find(std::uint64_t token, bool active) const {
  const auto found = ids_.find({token, active});
  return found == ids_.end() ? nullptr : &sides_.at(found->second);
}

Side& Node::open(Id id, std::uint64_t token, bool active) {
  ids_[{token, active}] = id.value;
  Side& side = sides_[id.value] = Side{};
  side.token = token;
  side.active = active;
  side.process = static_cast<int>(world_.rng().below(2));
  return side;
}

bool Node::peer_ended(const Side& side) const {
  if (world_.has_crashes() || Attacker::is_token(side.token)) return true;
  const Side* const other = world_.find(side.token, !side.active);
  return other != nullptr && (other->asked_to_end || other->refused || other->ended || other->destroyed);
}

void Node::require(bool condition, Id id, const cm::Event& event, const char* promise) {
  if (condition) return;
  world_.fail("node " + std::to_string(index_) + ", id " + std::to_string(id.value) + ", event " +
              std::string(cm::name_of(event.kind)) + ": " + promise);
}

void Node::event(const cm::Event& event) {
  world_.trace(index_, [&event] {
    return "id " + std::to_string(event.id.value) + ": " + std::string(cm::name_of(event.kind));
  });
  const Id id = event.id;
  if (event.kind == EventKind::request || event.kind == EventKind::service_id_request) {
    const std::uint64_t token = load_be64(event.private_data.data());
    require(!sides_.contains(id.value), id, event, "the id of a request is new");
    // A refusal is remembered until the peer should have repeated itself; when two messages are lost it asks
    // anew. So it does when it had to make room for others.
    const Side* const before = find(token, false);
    require(before == nullptr || before->refused || before->unreachable || before->sidr, id, event,
            "an attempt is told once");
    open(id, token, false).sidr = event.kind == EventKind::service_id_request;
    return decide(id, event);
  }
  Side* const side = live(id);
  require(side != nullptr, id, event, "nothing is told of a destroyed id");
  if (side == nullptr) return;
  note(*side, event);
  const bool twice = world_.mutant_of(index_) == Mutant::tells_twice && world_.rng().chance(0.1);
  if (twice) note(*side, event);
  decide(id, event);
}

// What may be told when.
void Node::note(Side& side, const cm::Event& event) {
  const Id id = event.id;
  if (event.kind == EventKind::timewait_exit) {
    require(side.ended && !side.left_timewait, id, event, "timewait follows the end, once");
    side.left_timewait = true;
    return;
  }
  require(!side.ended, id, event, "nothing but timewait_exit follows the end");
  switch (event.kind) {
    case EventKind::reply:
      require(side.active && !side.accepted && !side.established, id, event, "one reply to one request");
      side.accepted = true;
      return;
    case EventKind::established:
      require(!side.active && side.accepted && !side.established, id, event,
              "established once, after the reply");
      side.established = true;
      ++world_.tally().established;
      if (world_.is_attacked() && !Attacker::is_token(side.token)) ++world_.tally().attacked;
      return;
    case EventKind::unreachable:
      require(!side.established, id, event, "established connections are not unreachable");
      require(!side.active || world_.loses() || world_.find(side.token, false) != nullptr, id, event,
              "what no datagram of was lost is heard");
      side.ended = side.unreachable = true;
      ++world_.tally().unreachable;
      return;
    case EventKind::rejected:
      require(!side.established || peer_ended(side), id, event,
              "only its own end rejects what was established");
      side.ended = true;
      ++world_.tally().rejected;
      return;
    case EventKind::disconnect_request:
      require(side.accepted, id, event, "only what was connected is disconnected");
      require(peer_ended(side), id, event, "connections end by their own ends");
      side.established = side.ended = true;
      ++world_.tally().disconnected;
      return;
    case EventKind::disconnect_reply:
    case EventKind::disconnect_timeout:
      require(side.asked_to_end || world_.has_crashes(), id, event, "an answer needs a question");
      require(event.kind != EventKind::disconnect_timeout || world_.has_crashes() ||
                  Attacker::is_token(side.token),
              id, event, "sixteen DREQs are not all lost while the peer lives");
      side.ended = true;
      ++world_.tally().disconnected;
      return;
    case EventKind::service_id_reply:
      side.ended = true;
      ++world_.tally().resolved;
      return;
    case EventKind::service_id_timeout:
      side.ended = side.unreachable = true;
      return;
    default:
      return;
  }
}

void Node::decide(Id id, const cm::Event& event) {
  switch (event.kind) {
    case EventKind::request:
    case EventKind::service_id_request:
      return on_request(id);
    case EventKind::reply:
      return on_reply(id);
    case EventKind::established:
      return on_established(id);
    case EventKind::disconnect_request:
      if (world_.rng().chance(0.3)) return destroy(id);
      if (!manager_->disconnect_reply(id, {}, world_.now())) world_.fail("disconnect_reply was refused");
      return some_time_later(id, 20000, &Node::destroy);
    case EventKind::delayed:
      return;
    case EventKind::unreachable:
      if (!live(id)->active) return destroy(id);
      [[fallthrough]];
    default:
      return some_time_later(id, 40000, &Node::destroy);
  }
}

void Node::some_time_later(Id id, int at_most_us, void (Node::*action)(Id)) {
  if (world_.rng().chance(0.3)) return (this->*action)(id);
  const int life = life_;
  world_.after(world_.some_time(at_most_us), [this, id, action, life] {
    if (life == life_ && live(id) != nullptr) (this->*action)(id);
  });
}

void Node::on_request(Id id) {
  const std::uint64_t choice = world_.rng().below(100);
  if (choice < 10 && !live(id)->sidr) (void)manager_->delay(id, 10, {}, world_.now());
  if (choice < 65) return some_time_later(id, 8000, &Node::accept);
  if (choice < 80) return some_time_later(id, 8000, &Node::reject);
  if (choice < 95) return some_time_later(id, 8000, &Node::destroy);
}

void Node::on_reply(Id id) {
  const std::uint64_t choice = world_.rng().below(100);
  if (choice < 10) (void)manager_->delay(id, 10, {}, world_.now());
  if (choice < 80) return some_time_later(id, 5000, &Node::confirm);
  some_time_later(id, 5000, choice < 90 ? &Node::reject : &Node::destroy);
}

void Node::on_established(Id id) {
  const std::uint64_t choice = world_.rng().below(100);
  if (choice < 40) return some_time_later(id, 60000, &Node::disconnect);
  if (choice < 60) return some_time_later(id, 60000, &Node::destroy);
}

void Node::accept(Id id) {
  Side& side = *live(id);
  if (side.ended) return;
  if (side.sidr) {
    cm::SidrReply reply;
    reply.qpn = Qpn(next_qpn_++);
    if (!manager_->answer(id, reply, world_.now())) world_.fail("answer was refused");
    side.ended = true;
    return some_time_later(id, 20000, &Node::destroy);
  }
  cm::Reply reply;
  reply.endpoint.qpn = Qpn(next_qpn_++);
  reply.target_ack_delay = 8;
  if (!manager_->reply(id, reply, world_.now())) return world_.fail("reply was refused");
  side.accepted = true;
  if (world_.rng().chance(0.3)) some_time_later(id, 4000, &Node::first_packet);
}

// Data comes before the RTU: only from a peer that has confirmed.
void Node::first_packet(Id id) {
  const Side& side = *live(id);
  if (side.established || side.ended || !world_.is_confirmed(side.token)) return;
  if (!manager_->established(id, world_.now())) world_.fail("established was refused");
}

void Node::confirm(Id id) {
  Side& side = *live(id);
  if (side.ended) return;
  if (!manager_->confirm(id, {}, world_.now())) return world_.fail("confirm was refused");
  side.established = true;
  on_established(id);
}

void Node::reject(Id id) {
  Side& side = *live(id);
  if (side.ended) return;
  side.refused = true;
  if (side.sidr) return destroy(id);
  if (!manager_->reject(id, {}, world_.now())) world_.fail("reject was refused");
  side.ended = true;
  some_time_later(id, 20000, &Node::destroy);
}

void Node::disconnect(Id id) {
  Side& side = *live(id);
  if (side.ended || side.asked_to_end) return;
  side.asked_to_end = true;
  if (!manager_->disconnect(id, {}, world_.now()) && !world_.has_crashes()) {
    world_.fail("disconnect was refused");
  }
}

void Node::destroy(Id id) {
  Side& side = *live(id);
  if (!side.established && !side.ended) side.refused = true;
  side.destroyed = true;
  world_.trace(index_, [id] { return "id " + std::to_string(id.value) + ": destroy"; });
  if (world_.mutant_of(index_) == Mutant::leaks && world_.rng().chance(0.1)) return;
  manager_->destroy(id, world_.now());
}

void Node::connect(std::uint64_t token, std::size_t peer) {
  cm::Request request;
  const auto private_data = bytes_of(token);
  request.service_id = world_.rng().chance(0.1) ? kNobody : kService;
  request.path = path_between(index_, peer);
  request.endpoint.qpn = Qpn(next_qpn_++);
  request.local_response_timeout = request.remote_response_timeout = kResponseTimeout;
  request.private_data = private_data;
  const auto id = manager_->connect(request, world_.now());
  if (!id) return world_.fail("connect was refused");
  open(*id, token, true);
  if (world_.rng().chance(0.1)) some_time_later(*id, 30000, &Node::destroy);
}

void Node::resolve(std::uint64_t token, std::size_t peer) {
  cm::SidrRequest request;
  const auto private_data = bytes_of(token);
  request.service_id = world_.rng().chance(0.1) ? kNobody : kService;
  request.path = path_between(index_, peer);
  request.response_timeout = kResponseTimeout;
  request.private_data = private_data;
  const auto id = manager_->request_service_id(request, world_.now());
  if (!id) return world_.fail("request_service_id was refused");
  open(*id, token, true).sidr = true;
}

void Node::kill(int process) {
  ++world_.tally().killed;
  for (const auto& [id, side] : sides_) {
    if (side.process == process && !side.destroyed) destroy(Id(id));
  }
}

void Node::crash() {
  ++world_.tally().crashed;
  ++life_;
  sides_.clear();
  ids_.clear();
  next_qpn_ = 0x100;
  start();
}

void Node::wind_up() {
  for (const auto& [value, side] : sides_) {
    if (side.destroyed) continue;
    const Id id(value);
    side.alive() && !side.asked_to_end ? disconnect(id) : side.alive() ? void() : destroy(id);
  }
}

void Node::destroy_all() {
  for (const auto& [id, side] : sides_) {
    if (!side.destroyed) destroy(Id(id));
  }
}

}  // namespace softrnic::sim::cm_world
