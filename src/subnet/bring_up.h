// From decisions to active ports, in the order of IBTA 14.4: addresses and tables of all ports,
// then those of switches, then all ports armed, then active. Each stage waits for the answers of the one
// before.
#pragma once

#include <cstdint>
#include <set>

#include "subnet/configuration.h"
#include "subnet/options.h"

namespace softrnic::subnet {

class BringUp {
 public:
  BringUp(Configuration& configuration, EventSink& events, const ManagerOptions& options)
      : configuration_(configuration), events_(events), options_(options) {}

  /// `database` stays until all is done. Clients are told to register again with the administrator: with
  /// `is_first` all, else those of ports whose link came up or that were out of reach, as what they had
  /// registered went with them.
  void start(SubnetDatabase& database, bool is_first);
  /// Forwarding tables of multicast groups alone.
  void start_multicast(SubnetDatabase& database);
  void abandon() { stage_ = Stage::done; }

  /// Goes on to the next stage, if that can be. False: answers are awaited, or all is done.
  bool step();
  bool is_done() const { return stage_ == Stage::done; }

 private:
  enum class Stage : std::uint8_t { ports, switches, arm, activate, multicast, done };

  void begin(Stage stage);
  Settings settings_of(Stage stage);
  void tell_routing(const Settings& settings);

  Configuration& configuration_;
  EventSink& events_;
  const ManagerOptions& options_;
  SubnetDatabase* database_ = nullptr;
  Stage stage_ = Stage::done;
  std::set<Guid> reregister_;
  std::set<Guid> known_;  // end ports that were brought up before
};

}  // namespace softrnic::subnet
