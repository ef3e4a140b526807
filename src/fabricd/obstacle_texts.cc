#include "fabricd/obstacle_texts.h"

#include <fmt/core.h>

#include <chrono>

#include "control/fabric_folder.h"
#include "fabricd/port_words.h"

namespace softrnic::fabricd {
namespace {

using fabric::PortAddress;

/// A name of others as one word of a shell, for commands that people copy.
std::string shell_word(const std::string& name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,";
  if (!name.empty() && name[0] != '-' && name.find_first_not_of(kPlain) == std::string::npos) return name;
  std::string word = "'";
  for (const char c : name) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// Has what the sentences are made of.
class ObstacleWords {
 public:
  ObstacleWords(const FabricState& state, const Obstacle& obstacle, const CureContext& context)
      : state_(state), obstacle_(obstacle), context_(context) {}

  const Obstacle& o() const { return obstacle_; }
  std::string at() const { return port(obstacle_.at); }
  std::string peer() const { return obstacle_.peer ? port(*obstacle_.peer) : std::string("its peer"); }
  std::string node() const { return name(obstacle_.at.node); }
  std::string link_command(const char* change) const {
    return command(fmt::format("link {} {} {}", shell_word(node()), obstacle_.at.port, change));
  }
  std::string state_at() const {
    const fabric::ManagedPort* const managed = state_.managed(obstacle_.at);
    return managed != nullptr ? std::string(name_of(managed->info.port_state)) : "";
  }
  unsigned vls(PortAddress address) const { return state_.port(address)->attributes.operational_vls; }
  std::string waited() const {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(obstacle_.waited).count());
  }
  std::string cycle() const {
    std::string text;
    for (const fabric::CreditWait& wait : obstacle_.cycle) {
      const PortAddress input = state_.address_of(*state_.engine.port(wait.node, wait.input_port));
      text += fmt::format("{}{} port {} VL{} > port {} VL{}", text.empty() ? "" : ", ", name(input.node),
                          wait.input_port, wait.input_vl, wait.output_port, wait.output_vl);
    }
    return text;
  }

  /// With the fabric's name where it is not the default one.
  std::string command(const std::string& words) const {
    const bool plain = context_.fabric == control::kDefaultFabric;
    return plain ? "softrnic fabric " + words
                 : fmt::format("softrnic fabric {} --name {}", words, context_.fabric);
  }
  std::string manager() const {
    if (!context_.has_manager) return "start a subnet manager: " + on_host(a_host(), "opensm");
    return "that is for the subnet manager to set up: " + command("log") + " shows what it tells";
  }
  std::string enable() const {
    if (!state_.is_switch(obstacle_.at.node))
      return on_host(node(), fmt::format("ibportstate -D 0 {} enable", obstacle_.at.port));
    const fabric::ManagedPort* const zero = state_.managed({obstacle_.at.node, 0});
    return on_host(a_host(), fmt::format("ibportstate {} {} enable",
                                         zero != nullptr ? zero->info.lid.value : 0, obstacle_.at.port));
  }

 private:
  const std::string& name(fabric::NodeIndex index) const { return state_.topology.node(index).name; }
  std::string port(PortAddress address) const {
    return address.port == 0 ? name(address.node)
                             : fmt::format("{} port {}", name(address.node), address.port);
  }
  std::string on_host(const std::string& host, const std::string& program) const {
    return fmt::format("softrnic run --host {} -- {}", shell_word(context_.fabric + "/" + host), program);
  }
  std::string a_host() const {
    if (!state_.is_switch(context_.from.node)) return name(context_.from.node);
    const auto first = state_.topology.first_adapter();
    return first ? name(*first) : "HOST";
  }

  const FabricState& state_;
  const Obstacle& obstacle_;
  const CureContext& context_;
};

constexpr std::string_view kTables =
    "the tables are not of one piece: the next sweep of the subnet manager makes them anew, or another "
    "routing "
    "engine does (up --routing)";
constexpr std::string_view kServiceLevels =
    "use another service level, or give this one a lane: qos_sl2vl in a file for up --config";
constexpr std::string_view kPartitionsFile = "a file for up --partitions";

ObstacleText link_text(const ObstacleWords& w) {
  const Obstacle& o = w.o();
  switch (o.kind) {
    case ObstacleKind::no_cable:
      return {w.at() + " has no cable", "cables are those of the topology: give it one there"};
    case ObstacleKind::cable_pulled:
      return {fmt::format("the cable between {} and {} is pulled", w.at(), w.peer()), w.link_command("up")};
    case ObstacleKind::port_disabled:
      return {w.at() + " is disabled, and so its link is down", w.enable()};
    case ObstacleKind::port_not_active:
      return {fmt::format("{} is in state {}, which lets management pass alone", w.at(), w.state_at()),
              w.manager()};
    case ObstacleKind::no_lid:
      return {fmt::format("{} has no LID and is in state {}", w.at(), w.state_at()), w.manager()};
    case ObstacleKind::no_way:
      return {fmt::format("no way of links that are up leads from {} to {}", w.at(), w.peer()),
              "bring up a link between the two"};
    case ObstacleKind::link_errors:
      return {fmt::format("the link between {} and {} damages {:g} of all packets", w.at(), w.peer(), o.part),
              w.link_command("errors 0")};
    default:
      return {};
  }
}

ObstacleText table_text(const ObstacleWords& w) {
  const Obstacle& o = w.o();
  switch (o.kind) {
    case ObstacleKind::no_entry:
      return {fmt::format("{} has no entry for LID {} in its linear forwarding table", w.node(), o.lid.value),
              w.manager()};
    case ObstacleKind::no_such_port:
      return {fmt::format("the entry of {} for LID {} is port {}, which it does not have", w.node(),
                          o.lid.value, o.at.port),
              std::string(kTables)};
    case ObstacleKind::turns_back:
      return {
          fmt::format("the entry of {} for LID {} is port {}, by which the packets come: they are dropped",
                      w.node(), o.lid.value, o.at.port),
          std::string(kTables)};
    case ObstacleKind::loop:
      return {fmt::format("the entries for LID {} lead in a circle, which {} closes", o.lid.value, w.at()),
              std::string(kTables)};
    case ObstacleKind::wrong_port:
      return {fmt::format("the entry of {} for LID {} leads to {}, whose LID is another", w.node(),
                          o.lid.value, w.peer()),
              std::string(kTables)};
    default:
      return {};
  }
}

ObstacleText lane_text(const ObstacleWords& w) {
  const Obstacle& o = w.o();
  const std::string mapped =
      fmt::format("SL {}{} maps to VL{} at {}", o.sl,
                  o.in_port == 0 ? std::string() : fmt::format(" from port {}", o.in_port), o.vl, w.at());
  switch (o.kind) {
    case ObstacleKind::sl_dropped:
      return {mapped + ": dropped", std::string(kServiceLevels)};
    case ObstacleKind::vl_not_operational:
      return {fmt::format("{}, which has {} data VLs: dropped", mapped, w.vls(o.at)),
              std::string(kServiceLevels)};
    case ObstacleKind::vl_not_taken:
      return {fmt::format("packets come to {} in VL{}, and it has {} data VLs: dropped", w.at(), o.vl,
                          w.vls(o.at)),
              "set both ends of the cable to one number of VLs: qos_max_vls in a file for up --config"};
    case ObstacleKind::vl_without_weight:
      return {fmt::format("VL{} of {} has no weight in its arbitration tables, and never has its turn", o.vl,
                          w.at()),
              "give it one: qos_vlarb_high or qos_vlarb_low in a file for up --config"};
    case ObstacleKind::credits_stuck:
      return {fmt::format("VL{} of {} has packets and no credits: the first has waited for {}, as the buffer "
                          "of {} does not empty",
                          o.vl, w.at(), w.waited(), w.peer()),
              w.command("show --vl") + " shows what the packets there wait for"};
    case ObstacleKind::congestion:
      return {fmt::format("VL{} of {} waits for credits of {} now", o.vl, w.at(), w.peer()),
              "it goes on by itself: more comes than the link or the receiver takes"};
    case ObstacleKind::credit_deadlock:
      return {"a credit deadlock: each of these buffers waits for the next, and the last for the first: " +
                  w.cycle(),
              "a routing engine without such circles: up --routing updn; or a head-of-queue lifetime, which "
              "drops what has waited: head_of_queue_lifetime in a file for up --config"};
    case ObstacleKind::host_holds:
      return {"programs behind " + w.at() + " do not take what has come", "see whether they still run"};
    default:
      return {};
  }
}

ObstacleText partition_text(const ObstacleWords& w) {
  const Obstacle& o = w.o();
  switch (o.kind) {
    case ObstacleKind::p_key_missing:
      return {fmt::format("{} is not in partition {:#06x}", w.at(), o.p_key & fabric::kPartition),
              fmt::format("add its GUID to that partition in {}", kPartitionsFile)};
    case ObstacleKind::no_partition:
      return {
          fmt::format("{} and {} are in no partition together", w.at(), w.peer()),
          fmt::format("put both into one, one of them at least as a full member, in {}", kPartitionsFile)};
    case ObstacleKind::limited_members:
      return {fmt::format("{} and {} are both limited members of partition {:#06x}, and such do not talk",
                          w.at(), w.peer(), o.p_key),
              fmt::format("make one a full member in {}", kPartitionsFile)};
    case ObstacleKind::p_key_refused:
      return {fmt::format("{} enforces partitions, and does not let P_Key {:#06x} pass", w.at(), o.p_key),
              w.manager()};
    case ObstacleKind::p_key_index:
      return {
          fmt::format("the partition they share is not the first of {}: a program has to use P_Key {:#06x}",
                      w.at(), o.p_key),
          fmt::format("choose the P_Key in the program, or write indx0 at the partition in {}",
                      kPartitionsFile)};
    case ObstacleKind::mtu:
      return {fmt::format("{} passes an MTU of {} bytes and no more: longer packets are dropped", w.at(),
                          o.bytes),
              "programs are to use the MTU of the path record, not that of their port"};
    default:
      return {};
  }
}

}  // namespace

ObstacleText text_of(const FabricState& state, const Obstacle& obstacle, const CureContext& context) {
  const ObstacleWords words(state, obstacle, context);
  for (const auto text : {link_text, table_text, lane_text, partition_text})
    if (ObstacleText found = text(words); !found.seen.empty()) return found;
  return {};
}

}  // namespace softrnic::fabricd
