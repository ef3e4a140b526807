// The discrete-event world of one run: adapters, queue pairs, the network between them, and virtual time.
#pragma once

#include <queue>

#include "link/packet_coalescer.h"
#include "link/packet_segmenter.h"
#include "tests/sim/attacker.h"
#include "tests/sim/config.h"
#include "tests/sim/mutant.h"
#include "tests/sim/network.h"
#include "tests/sim/workload.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

struct Result {
  std::string failure;  ///< empty: everything held
  std::string trace;    ///< the last events, when something failed
  std::uint64_t packets = 0;
  std::uint64_t attack_packets = 0;
  std::uint64_t work = 0;
  TimePoint ended{};
};

class World {
 public:
  World(const Config& config, Mutation mutation, std::size_t trace_capacity);
  ~World();
  Result run();

 private:
  enum class Kind : std::uint8_t {
    packet,
    timer,
    pump,
    work,
    repost,
    incident,
    resume,
    start,
    paths,
    told,
    attack,
    look
  };
  struct Event {
    TimePoint at;
    std::uint64_t order;
    Kind kind;
    std::uint32_t subject;
    std::uint64_t argument;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  struct Adapter {
    wire::Gid gid, other_gid;
    std::unique_ptr<Memory> memory;
    /// By destination; one for UD; by destination of alternate paths
    std::vector<std::unique_ptr<ib::PathWindow>> windows;
    ReceiveQueue shared;
    std::unique_ptr<engine::UnexpectedPackets> unexpected;
    bool look_scheduled = false;
    TimePoint held_until{};  ///< by Mutation::hold_lane

    bool has(const wire::Gid& address) const { return address == gid || address == other_gid; }
  };
  /// Of packets that wait for a receive, an adapter.
  static constexpr std::size_t kUnexpectedBytes = 64 * 1024;

  // setting up (world_setup.cc)
  void build();
  void build_adapter(std::uint32_t index);
  Node& build_node(const PairConfig& pair, int side, std::uint32_t adapter);
  void build_receives(Node& node);
  ReceiveQueue& fill_queue(Node& node, ReceiveQueue& queue);
  void connect(Node& a, Node& b);
  void add_alternate(Node& node, const Node& peer);
  void build_models(Node& a, Node& b);
  void start(Node& node);
  void reconnect(Node& a, Node& b);

  // running (world.cc)
  void schedule(TimePoint at, Kind kind, std::uint32_t subject, std::uint64_t argument = 0);
  void handle(const Event& event);
  void deliver(std::uint32_t adapter, std::uint32_t flight);
  void expire(Node& node);
  void pump(Node& node);
  void resume_if_drained(Node& node);
  void pump_waiting(const Node& node);
  void send(Node& node, const ib::TxPacket& packet, bool eager = false);
  void accuse(const Node& node, const std::string& what);
  void receive(Node& node, const ib::RxPacket& packet, bool hostile);
  void check_size(const Node& node, const ib::TxPacket& packet);
  Memory* stays_in(const Node& node, const ib::TxPacket& packet);
  void lose(Node& node);
  Node* hand_over(std::uint32_t adapter, std::uint32_t flight, ib::RxPacket& packet);
  void touched(Node& node);
  void arm(Node& node);
  void want_work(Node& node);
  void work(Node& node);
  void repost(Node& node, std::uint64_t queue);
  void befall(Node& node);
  void resume(Node& node);
  bool at_rest() const;

  // what the links do (world_links.cc)
  void put_on_the_wire(Node& node, std::uint32_t to, const ib::TxPacket& packet, bool eager);
  void launch(Node& node, std::uint32_t to, const ib::TxPacket& packet, bool eager);
  bool is_dark(const Node& node, std::uint32_t flight) const;
  void dispatch(Node& node, std::uint32_t to, std::uint32_t flight);
  void join(std::uint32_t adapter, std::uint32_t flight, ib::RxPacket& packet);
  bool follows(std::uint32_t flight, std::uint32_t next);
  void set_paths(bool memory);
  void change_paths(bool decided);

  // the attacker, and packets without a receive (world_attack.cc)
  void fire();
  void fire_again();
  void overhear(std::uint32_t to, std::uint32_t flight);
  bool keeps(Node& node, const ib::RxPacket& packet);
  void look_after_unexpected(std::uint32_t adapter);
  void feed(Node& node);
  void forget_unexpected(Node& node);

  // short messages (world_eager.cc)
  bool send_eager(Node& node);
  bool receive_eager(Node& node, const ib::RxPacket& packet, std::uint32_t connection);
  void told(Node& node);

  // the end (world_end.cc)
  void finish();
  void settle(Node& node);
  void close(Node& node);
  void check_hang(const Node& node);

  Config config_;
  Mutation mutation_;
  Ground ground_;
  Rng rng_;
  Network network_;
  std::vector<Adapter> adapters_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<ReceiveQueue> queues_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<std::unique_ptr<MutantHost>> hosts_;
  std::vector<UdModel*> datagrams_;
  Workload workload_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::uint64_t handled_ = 0;
  bool memory_paths_ = false;
  std::uint32_t path_changes_ = 0;
  ib::TxPacket out_;
  link::PacketSegmenter segmenter_;
  link::PacketCoalescer coalescer_;
  Attacker attacker_;
  struct {
    std::uint32_t shots = 0;
    std::uint64_t packets = 0;
  } attacks_;
  std::optional<Flight> overheard_;
  std::uint32_t overheard_to_ = 0;
  std::vector<std::uint32_t> joined_;  ///< flights that arrived with the present one
};

/// Runs one seed to its end.
Result run_seed(std::uint64_t seed, Mutation mutation = Mutation::none, std::size_t trace_capacity = 300);
Result run_config(const Config& config, Mutation mutation = Mutation::none, std::size_t trace_capacity = 300);

}  // namespace softrnic::sim
