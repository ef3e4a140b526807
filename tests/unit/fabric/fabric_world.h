// A random fabric under random traffic, all from one seed, and what has to hold of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/engine.h"
#include "tests/sim/rng.h"

namespace softrnic::fabric {

struct WorldOptions {
  bool bad_routing = false;  ///< a ring whose packets all go clockwise
  bool lifetimes = false;
  bool faults = false;  ///< lost flow control, damaged packets, links that go down
  std::uint32_t packets = 120;
};

struct WorldTally {
  std::uint64_t packets = 0;
  std::uint64_t sent = 0;  ///< of a multicast packet once for each host that it should come to
  std::uint64_t delivered = 0;
  std::uint64_t refused = 0;
  std::uint64_t held = 0;
  std::uint64_t discarded = 0;
  std::uint64_t damaged = 0;
  std::uint64_t cut = 0;
};

class FabricWorld {
 public:
  FabricWorld(std::uint64_t seed, const WorldOptions& options);

  /// Sends everything, and waits until nothing moves.
  void run();
  /// What does not hold; empty: all is well.
  std::string failure() const { return failure_; }
  const WorldTally& tally() const { return tally_; }
  const Engine& engine() const { return engine_; }
  std::size_t switches() const { return switches_.size(); }
  std::size_t hosts() const { return hosts_.size(); }
  void set_lifetimes(std::uint8_t value);
  void wait(Duration time) { advance(time); }
  /// Packets that no port has, and that were not delivered.
  std::uint64_t waiting() const { return engine_.packets().packets_in_use(); }

 private:
  struct Host {
    PortId port;
    wire::Lid lid;
  };
  struct Agents : ManagementSink {
    bool on_packet(PortId, const Packet&) override { return false; }
    void on_state(PortId, PortState) override {}
    void on_room(PortId) override {}
  };
  struct Sink : HostSink {
    explicit Sink(FabricWorld& w) : world(w) {}
    bool on_packet(PortId port, const Packet& packet) override { return world.take(port, packet); }
    void on_room(PortId) override {}
    FabricWorld& world;
  };
  struct Chance : Dice {
    explicit Chance(FabricWorld& w) : world(w) {}
    double roll() override { return world.rng_.unit(); }
    FabricWorld& world;
  };
  struct Sent {
    std::vector<std::byte> bytes;
    std::uint64_t hosts = 0;  ///< bit n: it has to come to host n
  };
  /// Source, destination, SL, and the host where it arrives
  using Flow = std::tuple<std::uint32_t, std::uint32_t, std::uint8_t, std::size_t>;

  void build_ring();
  void build_star();
  void build_fat_tree();
  NodeId add_switch(std::uint8_t ports);
  void add_host(NodeId at, std::uint8_t port);
  void link(NodeId a, std::uint8_t port_a, NodeId b, std::uint8_t port_b);
  void route(NodeId at, wire::Lid lid, std::uint8_t port);
  void set_up();
  void activate_all();
  void multicast(NodeId at, std::uint16_t ports);
  std::vector<std::byte> packet_of(std::uint32_t id, wire::Lid from, wire::Lid to, std::uint8_t sl);
  void send_some();
  void send_one();
  void disturb();
  bool take(PortId port, const Packet& packet);
  void advance(Duration time);
  void check_buffers();
  void check_end();
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  sim::Rng rng_;
  WorldOptions options_;
  Agents agents_;
  Sink sink_{*this};
  Chance chance_{*this};
  Engine engine_;
  BufferSizes sizes_;
  Rate rate_;
  Duration delay_{0};
  std::vector<NodeId> switches_;
  std::vector<Host> hosts_;
  std::vector<LinkId> links_;
  std::vector<LinkId> cut_;
  std::map<std::uint32_t, Sent> under_way_;  ///< by packet id
  std::map<Flow, std::uint32_t> last_;       ///< id of the latest packet that came
  std::vector<PortId> holding_;
  bool hosts_hold_ = true;  ///< now and then
  std::string failure_;
  WorldTally tally_;
};

}  // namespace softrnic::fabric
