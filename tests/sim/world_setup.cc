#include <algorithm>

#include "tests/sim/world.h"
#include "transport/ib/timers.h"

namespace softrnic::sim {

World::World(const Config& config, Mutation mutation, std::size_t trace_capacity)
    : config_(config),
      mutation_(mutation),
      ground_(trace_capacity),
      rng_(config.seed ^ 0x5151'5151),
      network_(config.faults, config.adapters, config.seed ^ 0x7e7e),
      workload_(ground_, Rng(config.seed ^ 0x3030), nodes_),
      attacker_(config.attack, Rng(config.seed ^ 0x6b72), nodes_) {
  build();
}

World::~World() = default;

void World::build_adapter(std::uint32_t index) {
  Adapter a;
  if (config_.ipv6) {
    a.gid.raw[0] = std::byte{0xfd};
    a.gid.raw[15] = static_cast<std::byte>(index + 1);
    a.other_gid = a.gid;
    a.other_gid.raw[7] = std::byte{1};
  } else {
    a.gid = wire::Gid::from_ipv4_be(__builtin_bswap32(0x0a000001U + index));
    a.other_gid = wire::Gid::from_ipv4_be(__builtin_bswap32(0x0a010001U + index));
  }
  a.memory = std::make_unique<Memory>(index + 1);
  ib::PathWindow::Limits limits;
  limits.initial_bytes = config_.window_bytes;
  limits.minimum_bytes = std::min<std::uint32_t>(config_.window_bytes, 4096);
  limits.maximum_bytes = 4 * config_.window_bytes;
  limits.longest_packet = config_.runs.longest_packet;
  for (std::uint32_t i = 0; i <= 2 * config_.adapters; ++i)
    a.windows.push_back(std::make_unique<ib::PathWindow>(limits));
  a.shared.memory = a.memory.get();
  a.unexpected = std::make_unique<engine::UnexpectedPackets>(kUnexpectedBytes);
  adapters_.push_back(std::move(a));
}

void World::build() {
  for (std::uint32_t i = 0; i < config_.adapters; ++i) build_adapter(i);
  set_paths(config_.memory.longest_packet != 0);
  if (config_.memory.changes != 0)
    schedule(
        TimePoint{} + Duration(rng_.below(static_cast<std::uint64_t>(config_.memory.changes_every.count()))),
        Kind::paths, 0, 0);
  datagrams_.resize(2 * config_.pairs.size());
  for (const PairConfig& pair : config_.pairs) {
    const auto a = static_cast<std::uint32_t>(rng_.below(config_.adapters));
    std::uint32_t b = static_cast<std::uint32_t>(rng_.below(config_.adapters));
    if (a == b && !rng_.chance(0.1)) b = (a + 1) % config_.adapters;  // now and then loopback
    Node& one = build_node(pair, 0, a);
    Node& two = build_node(pair, 1, b);
    connect(one, two);
  }
  for (const auto& node : nodes_) build_receives(*node);
  for (const auto& node : nodes_)
    for (ReceiveQueue* queue : node->queues)
      for (std::uint32_t i = 0; queue != nullptr && i < node->pair->receive_depth; ++i) queue->post(rng_);
  if (config_.attack.shots != 0) schedule(TimePoint{}, Kind::attack, 0);
  for (const auto& node : nodes_) {
    if (node->pair->hostile && node->side == 1) {
      node->stopped = true;  // the attacker itself
      continue;
    }
    const bool late = node->side == 1 && node->pair->late_start.count() != 0;
    if (late)
      schedule(TimePoint{} + node->pair->late_start, Kind::start, node->index);
    else
      start(*node);
    if (node->pair->incident != Incident::none && node->side == node->pair->incident_side)
      schedule(TimePoint{} + node->pair->incident_at, Kind::incident, node->index);
  }
}

Node& World::build_node(const PairConfig& pair, int side, std::uint32_t adapter) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(std::make_unique<Node>(ground_, index, *adapters_[adapter].memory, config_.faults.taken,
                                          Rng(config_.seed + index)));
  Node& n = *nodes_.back();
  n.adapter = adapter;
  n.side = side;
  n.pair = &pair;
  n.qpn = Qpn::of(static_cast<std::uint8_t>(1 + adapter),
                  static_cast<std::uint16_t>((1 + rng_.below(900)) * 64 + index));
  n.address.source = adapters_[adapter].gid;
  n.address.source_port = static_cast<std::uint16_t>(rng_.range(0xc000, 0xffff));
  n.address.traffic_class = static_cast<std::uint8_t>(rng_.below(256));
  n.address.hop_limit = 64;
  n.lossy =
      config_.faults.loses() || config_.faults.reorder > 0 || pair.late_start.count() != 0 || pair.alternate;
  const Faults& f = config_.faults;
  const Duration answer =
      2 * (f.delay + f.jitter + f.pause_length + f.reorder_by) + std::chrono::milliseconds(1);
  n.was_late = side == 1 && pair.late_start.count() != 0;
  n.bad_invalidate_expected = pair.hostile;
  n.exact_counts = config_.attack.shots == 0 && f.duplicate == 0 && f.reorder == 0 && !f.loses() &&
                   f.pause_length.count() == 0 && config_.memory.changes == 0 && !pair.alternate;
  n.slow = pair.timeout != 0 && answer > ib::ack_timeout(pair.timeout);
  constexpr std::uint32_t kRemote = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic | ib::kFlushGlobal;
  const std::size_t bytes = pair.type == ib::QpType::ud ? 8 : (pair.largest + 8192U) & ~7U;
  n.target = &n.memory.add(bytes, kRemote | ib::kLocalWrite, Use::target, rng_);
  n.foreign = &n.memory.add(bytes, kRemote | ib::kLocalWrite, Use::target, rng_);
  n.foreign->pd = 2;
  n.feeble = &n.memory.add(bytes, ib::kLocalWrite, Use::target, rng_);
  if (pair.op_weights[static_cast<int>(ib::SendOp::send_with_invalidate)] != 0)
    for (std::uint32_t i = 0; i < pair.work[1 - side]; ++i)
      n.windows.push_back(n.memory.add(8, kRemote, Use::target, rng_).key);
  hosts_.push_back(std::make_unique<MutantHost>(n, mutation_));
  const ib::Capacity capacity{pair.send_depth, pair.send_sges, pair.inline_bytes};
  n.endpoint = make_mutant(ib::make_endpoint(pair.type_of(side), n.qpn, capacity, *hosts_.back()), mutation_,
                           *hosts_.back());
  return n;
}

void World::connect(Node& a, Node& b) {
  Node* const sides[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    Node& n = *sides[i];
    const Node& other = *sides[1 - i];
    const PairConfig& p = *n.pair;
    n.address.destination = other.address.source;
    ib::Attributes& at = n.attributes;
    at.local = n.qpn;
    at.remote = other.qpn;
    at.path = n.address;
    at.path_mtu = p.mtu;
    at.send_psn = p.psn[i];
    at.receive_psn = p.psn[1 - i];
    at.qkey = 0x1000U + n.index;
    at.access = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic | ib::kFlushGlobal;
    if (p.misdeed == Misdeed::qp_access && i == 1) at.access &= ~static_cast<std::uint32_t>(ib::kRemoteWrite);
    at.max_reads_out = at.max_reads_in = p.reads;
    at.timeout = p.timeout;
    at.retry_count = p.retry_count;
    at.rnr_retry = p.rnr_retry;
    at.min_rnr_timer = p.min_rnr_timer;
    const bool ud = p.type == ib::QpType::ud;
    if (!ud) n.peer = sides[1 - i];
    n.windows_of[0] = adapters_[n.adapter].windows[ud ? config_.adapters : other.adapter].get();
    n.endpoint->set_window(n.windows_of[0]);
    if (p.alternate) add_alternate(n, other);
  }
  build_models(a, b);
}

void World::add_alternate(Node& node, const Node& peer) {
  ib::Attributes& at = node.attributes;
  at.alternate = {at.path, at.timeout, true};
  at.alternate.path.source = adapters_[node.adapter].other_gid;
  at.alternate.path.destination = adapters_[peer.adapter].other_gid;
  at.migration = node.pair->armed ? ib::Migration::armed : ib::Migration::rearm;
  node.windows_of[1] = adapters_[node.adapter].windows[config_.adapters + 1 + peer.adapter].get();
}

void World::build_models(Node& a, Node& b) {
  Node* const sides[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    Node& n = *sides[i];
    Node& other = *sides[1 - i];
    std::unique_ptr<Model> model;
    if (n.pair->hostile)
      model = std::make_unique<HostileModel>(ground_, n, config_.attack.stingy);
    else if (n.pair->type == ib::QpType::rc)
      model = std::make_unique<RcModel>(ground_, n, other);
    else if (n.pair->type == ib::QpType::uc)
      model = std::make_unique<UcModel>(ground_, n, other);
    else
      model = std::make_unique<UdModel>(ground_, n, network_, datagrams_, nodes_);
    n.sends = model.get();
    (n.pair->type == ib::QpType::ud || n.pair->hostile ? n : other).receptions = model.get();
    models_.push_back(std::move(model));
  }
}

void World::build_receives(Node& node) {
  const PairConfig& p = *node.pair;
  ReceiveQueue& shared = adapters_[node.adapter].shared;
  node.receives = node.queues[0] = &fill_queue(node, p.shared_receives ? shared : queues_.emplace_back());
  if (p.type_of(node.side) != ib::QpType::xrc_target) return;
  node.queues[1] = &fill_queue(node, queues_.emplace_back());
  for (std::uint32_t i = 0; i < 2; ++i) node.queues[i]->srqn = 1 + 2 * node.index + i;
}

ReceiveQueue& World::fill_queue(Node& node, ReceiveQueue& filled) {
  const PairConfig& p = *node.pair;
  ReceiveQueue* const queue = &filled;
  queue->memory = &node.memory;
  queue->size = std::max(queue->size, p.largest + static_cast<std::uint32_t>(wire::kGrhBytes));
  queue->depth += p.receive_depth;
  queue->sges = std::max<std::uint16_t>(queue->sges, static_cast<std::uint16_t>(rng_.range(1, 5)));
  queue->repost_delay = std::max(queue->repost_delay, p.repost_delay);
  if (node.side == 1 && (p.misdeed == Misdeed::short_receive || p.misdeed == Misdeed::bad_receive_lkey)) {
    queue->misdeed = p.misdeed;
    queue->misdeed_at = queue->posted + p.misdeed_at % 40;
  }
  return filled;
}

void World::start(Node& node) {
  if (node.gone()) return;
  if (node.migrations % 2 == 1) std::swap(node.windows_of[0], node.windows_of[1]);
  node.migrations = 0;
  node.endpoint->set_window(node.windows_of[0]);
  node.endpoint->start_responder(node.attributes);
  node.endpoint->start_requester(node.attributes);
  node.started = true;
  ++node.connection;
  ground_.log(What::action, node.index, 100);
  schedule(ground_.now + Duration(rng_.below(1000)), Kind::work, node.index);
  node.work_scheduled = true;
}

/// Both sides go through RESET and come back with new PSNs, far enough from the old ones for stragglers to be
/// known.
void World::reconnect(Node& a, Node& b) {
  Node* const sides[] = {&a, &b};
  for (Node* n : sides)
    if (n->gone() || !n->started) return;
  for (Node* n : sides) {
    n->endpoint->reset();
    forget_unexpected(*n);
    n->sends->abandon();
    n->sends->finish();
    for (const auto& receive : n->taken) {
      n->memory.remove(receive->region);
      n->give_back(*receive);
    }
    n->taken.clear();
    n->observer.forget();
    n->broken = n->flush_commanded = n->error_reported = n->drain_pending = n->drained_seen = false;
    n->attributes.send_psn = (n->attributes.send_psn + 0x600000U) & wire::kPsnMask;
    n->attributes.receive_psn = (n->attributes.receive_psn + 0x600000U) & wire::kPsnMask;
    n->misbehaved = true;
  }
  build_models(a, b);
  for (Node* n : sides) {
    start(*n);
    touched(*n);
  }
}

}  // namespace softrnic::sim
