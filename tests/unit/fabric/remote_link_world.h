// Two fabrics, each an engine with a switch and hosts, and a cable between them that takes its time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "fabric/remote_link.h"
#include "tests/sim/rng.h"
#include "tests/unit/fabric/engine_fixture.h"

namespace softrnic::fabric {

struct RemoteWorldOptions {
  bool cuts = false;    ///< the link goes down and comes up again, and the connection is lost
  double damage = 0;    ///< chance that a packet is damaged
  bool holding = true;  ///< hosts hold packets now and then
};

class RemoteWorld {
 public:
  static constexpr unsigned kHosts = 2;  ///< of each fabric

  RemoteWorld(std::uint64_t seed, const RemoteWorldOptions& options);

  void run(unsigned packets);
  /// Until nothing moves. The cable is plugged in and both ends are active.
  void settle();
  /// What does not hold; empty: all is well.
  const std::string& failure() const { return failure_; }

  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t across = 0;  ///< of those that were delivered
  std::uint64_t damaged() const;
  std::size_t most_waiting = 0;  ///< blocks of data, in one direction

 private:
  struct Message {
    TimePoint due;
    std::variant<RemoteLinkStatus, std::pair<std::vector<std::byte>, bool>, wire::FlowControlPacket> what;
  };
  struct Side : ManagementSink, HostSink, RemoteSink, Dice {
    Side(RemoteWorld& w, std::size_t i) : world(w), index(i), engine({}, {this, this, nullptr, this, this}) {}
    bool on_packet(PortId port, const Packet& packet) override { return world.take(*this, port, packet); }
    void on_state(PortId, PortState) override {}
    void on_room(PortId) override {}
    double roll() override { return world.rng_.unit(); }
    void carry(PortId, const Packet& packet) override;
    void carry(PortId, const wire::FlowControlPacket& packet) override { put(packet); }
    void on_link(PortId) override {
      if (link) link->changed();
    }
    template <typename What>
    void put(const What& what) {
      world.put(index, what);
    }

    RemoteWorld& world;
    std::size_t index;
    Engine engine;
    NodeId switch_node;
    std::vector<PortId> hosts;
    PortId cable_end;
    RemoteCable cable;
    std::unique_ptr<RemoteLink> link;
    std::deque<Message> out;
    std::size_t waiting = 0;  ///< blocks in it
    std::vector<PortId> holding;
  };

  void build(Side& side);
  void connect();
  void put(std::size_t side, decltype(Message::what) what);
  static std::size_t blocks_in(const Message& message);
  void deliver(Side& from);
  bool take(Side& side, PortId port, const Packet& packet);
  void send_one();
  void disturb();
  void activate();
  void advance(Duration time);
  void release_hosts();
  void check_credits();
  void check_buffers();
  static wire::Lid lid(std::size_t side, std::size_t host) {
    return wire::Lid(static_cast<std::uint16_t>(1 + side * kHosts + host));
  }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  sim::Rng rng_;
  RemoteWorldOptions options_;
  BufferSizes sizes_;
  std::array<std::unique_ptr<Side>, 2> sides_;
  std::map<std::uint32_t, std::vector<std::byte>> under_way_;
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::uint8_t>, std::uint32_t> last_;
  TimePoint now_{};
  bool hosts_hold_ = true;
  std::uint32_t next_id_ = 1;
  std::string failure_;
};

}  // namespace softrnic::fabric
