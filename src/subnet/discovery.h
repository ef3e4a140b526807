// A heavy sweep: from the manager's own port along directed routes to all that answers (IBTA 14.4). What
// answers may be broken or hostile, so nothing that it says makes the sweep longer than its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "subnet/events.h"
#include "subnet/smp_requests.h"
#include "subnet/subnet.h"

namespace softrnic::subnet {

/// P_Keys of a port that are read and set, at most; of more that it has, the others are left alone.
inline constexpr std::uint16_t kMostPKeys = 512;

struct DiscoveryOptions {
  std::uint64_t m_key = 0;
  std::size_t most_nodes = Lid::kLastUnicast;
  std::size_t most_ports = std::size_t{1} << 18;  ///< that nodes say they have
};

class Discovery {
 public:
  Discovery(SmpRequests& requests, EventSink& events, const DiscoveryOptions& options)
      : requests_(requests), events_(events), options_(options) {}

  /// Begins anew. Of ports that were armed or active in `before`, which stays until the sweep is done, and
  /// still are, the tables of P_Keys and GUIDs are not read again. With `is_master`, switches are told that
  /// their changes were seen, before their ports are asked: what changes later is then seen next time.
  void start(const Subnet* before, bool is_master);
  bool is_done() const { return pending_ == 0; }
  /// What was found; links and nodes of which too little is known are left out. Once, when done.
  Subnet finish();

 private:
  template <typename Attribute, typename Take>
  void ask(NodePort port, SmpRequest request, Take take);
  void probe(const DirectedPath& path, NodePort from);
  void take_node(const DirectedPath& path, NodePort from, const mad::NodeInfo& info);
  NodeId add_node(const DirectedPath& path, const mad::NodeInfo& info);
  bool connect(NodePort from, NodePort to);
  void take_end_port(NodePort at, const DirectedPath& path, Guid port_guid);
  void ask_switch(NodeId id);
  void take_switch_info(NodeId id, const mad::SwitchInfo& info);
  void ask_ports(NodeId id);
  void ask_port(NodePort at);
  void take_port(NodePort at, const mad::PortInfo& info);
  void ask_tables(NodePort at);
  void ask_p_keys(NodePort at);
  void ask_guids(NodePort at);
  bool keep_tables(NodePort at);
  void ask_manager(NodePort at);
  void note_silence(const DirectedPath& path, std::uint16_t attribute, NodeId node);

  SmpRequests& requests_;
  EventSink& events_;
  DiscoveryOptions options_;

  Subnet subnet_;
  const Subnet* before_ = nullptr;
  bool is_master_ = false;
  std::size_t pending_ = 0;  // requests whose answers are awaited
  std::size_t ports_ = 0;    // of all nodes
  bool is_at_limit_ = false;
  std::set<NodeId> silent_;
};

/// The M_Key to ask a port with: what it told, or the one that is set everywhere (IBTA 14.2.4).
std::uint64_t m_key_for(const Subnet& subnet, NodePort port, std::uint64_t configured);

}  // namespace softrnic::subnet
