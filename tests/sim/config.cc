#include "tests/sim/config.h"

#include <algorithm>

#include "tests/sim/rng.h"
#include "tests/sim/trace.h"

namespace softrnic::sim {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// 0 half of the time, else between `low` and `high` with small values likelier.
double rate(Rng& rng, double low, double high) {
  if (rng.chance(0.5)) return 0;
  const double x = rng.unit();
  return low + (high - low) * x * x;
}

Faults draw_faults(Rng& rng) {
  Faults f;
  f.delay = Duration(rng.range(200, 50'000));
  if (rng.chance(0.3)) return f;  // a network without faults: the strictest promises hold
  f.loss = rate(rng, 0.001, 0.15);
  f.duplicate = rate(rng, 0.001, 0.2);
  f.reorder = rate(rng, 0.001, 0.2);
  f.corrupt = rate(rng, 0.001, 0.05);
  if (rng.chance(0.5)) f.jitter = Duration(rng.range(1, 200'000));
  if (f.reorder > 0) f.reorder_by = Duration(rng.range(1000, rng.chance(0.2) ? 20'000'000 : 300'000));
  if (rng.chance(0.1)) {
    f.blackout_every = milliseconds(rng.range(5, 100));
    f.blackout_length = microseconds(rng.range(100, 20'000));
  }
  if (rng.chance(0.15)) {
    f.pause_every = milliseconds(rng.range(2, 50));
    f.pause_length = microseconds(rng.range(100, 10'000));
  }
  return f;
}

/// Two seeds of three are of networks. Even memory may lose, copy and reorder packets
/// here: the transport bears it.
MemoryPaths draw_memory(Rng& rng, Faults& f) {
  MemoryPaths m;
  if (rng.chance(0.65)) return m;
  m.longest_packet = static_cast<std::uint32_t>(rng.chance(0.3) ? 64 * 1024 : rng.range(300, 64 * 1024));
  m.window = static_cast<std::uint32_t>(rng.chance(0.3) ? 256 * 1024 : rng.range(4096, 256 * 1024));
  if (rng.chance(0.7))
    m.rendezvous_from = static_cast<std::uint32_t>(rng.range(1, rng.chance(0.5) ? 500 : 9000));
  if (m.rendezvous_from != 0 && rng.chance(0.5)) f.gone = 0.001 + 0.1 * rng.unit() * rng.unit();
  if (rng.chance(0.2)) {
    m.changes = static_cast<std::uint32_t>(rng.range(1, 10));
    m.changes_every = Duration(rng.range(1000, 2'000'000));
  }
  if (rng.chance(0.7)) m.eagers = rng.chance(0.5) ? 1.0 : rng.unit();
  return m;
}

/// Either end may be softrnic or another adapter.
Runs draw_runs(Rng& rng) {
  Runs r;
  if (rng.chance(0.6))
    r.longest_packet = static_cast<std::uint32_t>(rng.chance(0.5) ? 16 * 1024 : rng.range(300, 64 * 1024));
  if (rng.chance(0.6)) r.join = rng.chance(0.5) ? 1.0 : rng.unit();
  if (rng.chance(0.5)) r.gap = Duration(rng.range(1, rng.chance(0.3) ? 1'000'000 : 20'000));
  return r;
}

/// Where one host's adapters share words, one of them may be off the processor while it has one.
void draw_neighbours(Rng& rng, Faults& f) {
  if (rng.chance(0.15)) f.taken = 0.01 + 0.4 * rng.unit() * rng.unit();
}

void draw_operations(PairConfig& p, Rng& rng) {
  for (auto& w : p.op_weights) w = 0;
  const auto weigh = [&](ib::SendOp op) {
    if (rng.chance(0.7)) p.op_weights[static_cast<int>(op)] = static_cast<std::uint32_t>(rng.range(1, 10));
  };
  weigh(ib::SendOp::send);
  weigh(ib::SendOp::send_with_imm);
  if (p.type != ib::QpType::ud) {
    weigh(ib::SendOp::write);
    weigh(ib::SendOp::write_with_imm);
  }
  if (p.type == ib::QpType::rc) {
    weigh(ib::SendOp::read);
    weigh(ib::SendOp::compare_swap);
    weigh(ib::SendOp::fetch_add);
    if (rng.chance(0.3)) weigh(ib::SendOp::send_with_invalidate);
  }
  const std::uint32_t* end = std::end(p.op_weights);
  if (std::all_of(std::cbegin(p.op_weights), end, [](std::uint32_t w) { return w == 0; }))
    p.op_weights[static_cast<int>(ib::SendOp::send)] = 1;
}

/// What puts no packet on the wire.
void draw_windows(PairConfig& p, Rng& rng) {
  if (p.type == ib::QpType::ud || !rng.chance(0.3)) return;
  p.op_weights[static_cast<int>(ib::SendOp::bind_window)] = static_cast<std::uint32_t>(rng.range(1, 5));
  p.op_weights[static_cast<int>(ib::SendOp::local_invalidate)] = static_cast<std::uint32_t>(rng.range(0, 5));
}

/// What is answered by a READ response of no bytes.
void draw_placement(PairConfig& p, Rng& rng) {
  if (p.type != ib::QpType::rc || !rng.chance(0.3)) return;
  for (const auto op : {ib::SendOp::flush, ib::SendOp::atomic_write})
    p.op_weights[static_cast<int>(op)] = static_cast<std::uint32_t>(rng.range(0, 8));
}

void draw_sizes(PairConfig& p, Rng& rng, const Faults& f) {
  static constexpr std::uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};
  static constexpr std::uint32_t kLargest[] = {64, 4096, 20'000, 100'000, 400'000};
  p.mtu = rng.pick(kMtus);
  p.largest = rng.pick(kLargest);
  p.byte_budget = rng.chance(0.02) ? 8'000'000 : 400'000;
  if (rng.chance(0.005)) p.largest = 4'000'000;
  if (f.loses() || f.reorder > 0) {  // go-back repeats much: keep runs short
    p.byte_budget = std::min<std::uint64_t>(p.byte_budget, 400ULL * p.mtu);
    p.largest = std::min(p.largest, 100 * p.mtu);
  }
  if (p.type == ib::QpType::ud) p.largest = std::min(p.largest, p.mtu);
  p.send_sges = static_cast<std::uint16_t>(rng.range(1, rng.chance(0.2) ? 30 : 4));
  p.inline_bytes = static_cast<std::uint32_t>(rng.chance(0.3) ? 0 : rng.range(1, 400));
}

void draw_queues(PairConfig& p, Rng& rng) {
  p.send_depth = static_cast<std::uint32_t>(rng.chance(0.15) ? 1 : rng.range(2, rng.chance(0.2) ? 200 : 32));
  p.receive_depth = static_cast<std::uint32_t>(rng.chance(0.15) ? 1 : rng.range(2, 64));
  p.shared_receives = rng.chance(0.25);
  p.reads = static_cast<std::uint8_t>(rng.chance(0.3) ? 1 : rng.range(1, 16));
  if (rng.chance(0.4)) p.repost_delay = Duration(rng.range(1, rng.chance(0.2) ? 20'000'000 : 200'000));
  p.work[0] = static_cast<std::uint32_t>(rng.range(1, 120));
  p.work[1] = rng.chance(0.4) ? 0 : static_cast<std::uint32_t>(rng.range(1, 120));
  p.unsignaled = rng.chance(0.5) ? 0 : rng.unit();
  p.fenced = rng.chance(0.5) ? 0 : rng.unit() * 0.5;
  p.inlined = rng.chance(0.4) ? 0 : rng.unit();
  p.gap = Duration(rng.range(1, rng.chance(0.2) ? 2'000'000 : 30'000));
  p.burst = static_cast<std::uint32_t>(rng.range(1, 32));
}

void draw_timers(PairConfig& p, Rng& rng, const Faults& f) {
  static constexpr std::uint32_t kNearWrap[] = {0xffffff, 0xfffffe, 0xfffff0, 0xffff00,
                                                0x7fffff, 0x800000, 0,        1};
  for (auto& psn : p.psn)
    psn = rng.chance(0.5) ? rng.pick(kNearWrap) : static_cast<std::uint32_t>(rng.below(1U << 24));
  p.timeout = static_cast<std::uint8_t>(rng.range(6, 16));  // 0.26 ms … 268 ms
  if (!f.loses_packets() && f.reorder == 0 && rng.chance(f.gone > 0 || f.taken > 0 ? 0.5 : 0.2))
    p.timeout = 0;
  if (p.timeout != 0 && rng.chance(0.1)) p.late_start = Duration(rng.range(1, 500'000));
  p.retry_count = static_cast<std::uint8_t>(rng.chance(0.7) ? 7 : rng.below(8));
  p.rnr_retry = static_cast<std::uint8_t>(rng.chance(0.7) ? 7 : rng.below(8));
  p.min_rnr_timer = static_cast<std::uint8_t>(rng.chance(0.8) ? rng.range(1, 20) : rng.below(32));
}

void draw_trouble(PairConfig& p, Rng& rng) {
  if (p.type != ib::QpType::ud && rng.chance(0.2)) {
    p.misdeed = static_cast<Misdeed>(rng.range(1, static_cast<std::uint64_t>(Misdeed::unknown_srq) - 1));
    p.misdeed_at = static_cast<std::uint32_t>(rng.below(p.work[0]));
  } else if (p.type == ib::QpType::ud && rng.chance(0.1)) {
    p.misdeed = Misdeed::bad_lkey;
    p.misdeed_at = static_cast<std::uint32_t>(rng.below(p.work[0]));
  }
  if (rng.chance(0.2)) {
    p.incident = static_cast<Incident>(rng.range(1, static_cast<std::uint64_t>(Incident::count_) - 1));
    p.incident_at = Duration(rng.range(1, rng.chance(0.5) ? 200'000 : 5'000'000));
    p.incident_side = static_cast<int>(rng.below(2));
  }
}

/// Every sixth reliable connection is one of XRC.
void draw_xrc(Config& c, Rng& rng) {
  for (PairConfig& p : c.pairs) {
    if (p.type != ib::QpType::rc || !rng.chance(0.17)) continue;
    p.xrc = true;
    for (const auto op : {ib::SendOp::flush, ib::SendOp::atomic_write})  // which have no opcode of XRC
      p.op_weights[static_cast<int>(op)] = 0;
    p.work[1] = 0;  // a target sends nothing
    p.shared_receives = false;
    if (p.misdeed == Misdeed::none && rng.chance(0.1)) p.misdeed = Misdeed::unknown_srq;
    if (p.misdeed == Misdeed::unknown_srq) p.misdeed_at = static_cast<std::uint32_t>(rng.below(p.work[0]));
  }
}

/// Every sixth reliable connection has a second path, which it will need.
void draw_paths(Config& c, Rng& rng) {
  for (PairConfig& p : c.pairs) {
    if (p.type != ib::QpType::rc || p.hostile || p.timeout == 0 || !rng.chance(0.17)) continue;
    p.alternate = true;
    p.armed = rng.chance(0.6);
    p.dark_at = Duration(rng.range(1, rng.chance(0.5) ? 300'000 : 5'000'000));
  }
}

/// Three seeds of ten have an attacker.
void draw_attack(Config& c, Rng& rng) {
  if (!rng.chance(0.3)) return;
  c.attack.shots = static_cast<std::uint32_t>(rng.range(1, 400));
  c.attack.gap = Duration(rng.range(1, rng.chance(0.3) ? 1'000'000 : 50'000));
  c.attack.knows_qpns = rng.chance(0.7);
  c.attack.stingy = rng.chance(0.5);
  if (c.attack.stingy && c.memory.longest_packet == 0 &&
      rng.chance(0.5)) {  // a ring may say that a packet is several
    c.memory.longest_packet = 16 * 1024;
    c.memory.window = 64 * 1024;
  }
  if (rng.chance(0.5)) {
    c.attack.idle_pairs = static_cast<std::uint32_t>(rng.range(1, 8));
    PairConfig idle;
    idle.type = ib::QpType::ud;
    idle.receive_depth = 0;
    idle.work[0] = idle.work[1] = 0;
    idle.op_weights[static_cast<int>(ib::SendOp::send)] = 1;  // the end of a run may post one in ERR
    idle.largest = idle.mtu;
    c.pairs.insert(c.pairs.end(), c.attack.idle_pairs, idle);
  }
  if (rng.chance(0.85)) {
    PairConfig p;
    p.hostile = true;
    p.type = rng.chance(0.8) ? ib::QpType::rc : ib::QpType::uc;
    draw_operations(p, rng);
    if (p.type == ib::QpType::rc && rng.chance(0.4)) {  // answers that name no length
      std::fill(std::begin(p.op_weights), std::end(p.op_weights), 0U);
      p.op_weights[static_cast<int>(ib::SendOp::fetch_add)] = 1;
    }
    draw_sizes(p, rng, c.faults);
    p.largest = std::min(p.largest, 20'000U);
    draw_queues(p, rng);
    p.shared_receives = false;
    draw_timers(p, rng, c.faults);
    p.timeout = std::max<std::uint8_t>(p.timeout, 8);
    p.late_start = Duration(0);
    c.pairs.push_back(p);
  }
}

}  // namespace

Config Config::from_seed(std::uint64_t seed) {
  Rng rng(seed);
  Config c;
  c.seed = seed;
  c.adapters = static_cast<std::uint32_t>(rng.chance(0.7) ? 2 : rng.range(2, 4));
  c.ipv6 = rng.chance(0.3);
  c.window_bytes = static_cast<std::uint32_t>(rng.chance(0.3) ? rng.range(4096, 32'768) : 128 * 1024);
  c.quantum = static_cast<std::uint32_t>(rng.range(1, 64));
  c.faults = draw_faults(rng);
  Rng of_memory(seed ^ 0x6d65'6d6f);
  c.memory = draw_memory(of_memory, c.faults);
  Rng of_neighbours(seed ^ 0x6e62'7273);
  draw_neighbours(of_neighbours, c.faults);
  Rng of_runs(seed ^ 0x7275'6e73);
  c.runs = draw_runs(of_runs);
  Rng of_windows(seed ^ 0x7769'6e64);
  Rng of_placement(seed ^ 0x706c'6163);
  const std::uint64_t pairs = rng.chance(0.6) ? 1 : rng.range(2, 4);
  for (std::uint64_t i = 0; i < pairs; ++i) {
    PairConfig p;
    const std::uint64_t kind = rng.below(10);
    p.type = kind < 6 ? ib::QpType::rc : kind < 8 ? ib::QpType::uc : ib::QpType::ud;
    draw_operations(p, rng);
    draw_placement(p, of_placement);
    draw_windows(p, of_windows);
    draw_sizes(p, rng, c.faults);
    draw_queues(p, rng);
    draw_timers(p, rng, c.faults);
    draw_trouble(p, rng);
    // What stayed with a sender that deregisters it is lost, and only time tells.
    if (p.misdeed == Misdeed::deregister_source && c.memory.rendezvous_from != 0)
      p.timeout = std::max<std::uint8_t>(p.timeout, 8);
    c.pairs.push_back(p);
  }
  Rng of_xrc(seed ^ 0x7872'6300);
  draw_xrc(c, of_xrc);
  Rng of_attack(seed ^ 0x6174'6b72);
  draw_attack(c, of_attack);
  Rng of_paths(seed ^ 0x7061'7468);
  draw_paths(c, of_paths);
  return c;
}

const char* name(Misdeed misdeed) {
  static const char* const names[] = {
      "none",           "bad_rkey",         "other_pd",          "out_of_range",
      "region_access",  "qp_access",        "misaligned_atomic", "bad_lkey",
      "short_receive",  "bad_receive_lkey", "deregister_target", "deregister_source",
      "bad_invalidate", "unknown_srq"};
  return names[static_cast<std::size_t>(misdeed)];
}

const char* name(Incident incident) {
  static const char* const names[] = {"none", "kill", "flush", "reset", "drain", "reconnect"};
  return names[static_cast<std::size_t>(incident)];
}

std::string Config::describe() const {
  using LL = long long;
  std::string s =
      format("seed %llu: %u adapters, %s, window %u, quantum %u\n", static_cast<unsigned long long>(seed),
             adapters, ipv6 ? "IPv6" : "IPv4", window_bytes, quantum);
  s += format("  faults: loss %.4f dup %.4f reorder %.4f (+%lld ns) corrupt %.4f delay %lld+%lld ns",
              faults.loss, faults.duplicate, faults.reorder, LL{faults.reorder_by.count()}, faults.corrupt,
              LL{faults.delay.count()}, LL{faults.jitter.count()});
  s += format(" blackout %lld/%lld pause %lld/%lld us\n", LL{faults.blackout_length.count() / 1000},
              LL{faults.blackout_every.count() / 1000}, LL{faults.pause_length.count() / 1000},
              LL{faults.pause_every.count() / 1000});
  if (runs.longest_packet != 0 || runs.join != 0)
    s += format("  runs: sent up to %u bytes, joined %.2f across %lld ns\n", runs.longest_packet, runs.join,
                LL{runs.gap.count()});
  if (attack.shots != 0)
    s += format("  attacker: %u shots every %lld ns,%s %u idle pairs%s\n", attack.shots,
                LL{attack.gap.count()}, attack.knows_qpns ? " knows QPNs," : "", attack.idle_pairs,
                attack.stingy ? ", stingy" : "");
  if (faults.taken != 0) s += format("  words taken %.4f\n", faults.taken);
  if (memory.longest_packet != 0)
    s += format(
        "  memory: packets of %u, window %u, by place from %u, gone %.4f, eager %.2f, %u changes every %lld "
        "ns\n",
        memory.longest_packet, memory.window, memory.rendezvous_from, faults.gone, memory.eagers,
        memory.changes, LL{memory.changes_every.count()});
  for (const PairConfig& p : pairs) {
    s += format(
        "  %s mtu %u psn %06x/%06x timeout %u retry %u rnr %u timer %u reads %u sq %u sge %u inline %u",
        name(p.type_of(0)), p.mtu, p.psn[0], p.psn[1], p.timeout, p.retry_count, p.rnr_retry, p.min_rnr_timer,
        p.reads, p.send_depth, p.send_sges, p.inline_bytes);
    s += format(" rq %u%s repost %lld us work %u/%u largest %u budget %llu", p.receive_depth,
                p.shared_receives ? " shared" : "", LL{p.repost_delay.count() / 1000}, p.work[0], p.work[1],
                p.largest, static_cast<unsigned long long>(p.byte_budget));
    if (p.late_start.count() != 0) s += format(" late start %lld us", LL{p.late_start.count() / 1000});
    if (p.alternate)
      s += format(" dark at %lld us, alternate path %s", LL{p.dark_at.count() / 1000},
                  p.armed ? "armed" : "to be armed");
    s += format(" misdeed %s@%u incident %s side %d at %lld us\n", name(p.misdeed), p.misdeed_at,
                name(p.incident), p.incident_side, LL{p.incident_at.count() / 1000});
  }
  return s;
}

}  // namespace softrnic::sim
