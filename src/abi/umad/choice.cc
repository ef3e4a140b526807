#include "abi/umad/choice.h"

#include <cerrno>

#include "abi/umad/calls.h"
#include "abi/umad/process.h"
#include "base/reason_id.h"
#include "base/settings.h"

namespace softrnic::umad {
namespace {

// PortState and PortPhysicalState (IBTA 14.2.5.6)
constexpr std::uint8_t kActive = 4;
constexpr std::uint8_t kDisabled = 3;
constexpr std::uint8_t kLinkUp = 5;
constexpr std::uint32_t kSmDisabled = 1 << 10;

constexpr const char* kDefaultCa = "mthca0";  // libibumad's, which nobody has
constexpr int kDefaultPort = 1;

std::optional<Fitness> fitness_of_named(const control::MadPort& port, bool smi) {
  if (!is_infiniband(port) || (smi && is_smi_disabled(port))) return std::nullopt;
  if (port.state == kActive) return Fitness::active;
  return port.physical_state == kDisabled ? std::nullopt : std::optional(Fitness::will_do);
}

}  // namespace

bool is_smi_disabled(const control::MadPort& port) { return (port.capability_mask & kSmDisabled) != 0; }
bool is_infiniband(const control::MadPort& port) { return port.has_qp0(); }

Expected<std::vector<control::MadCa>, Failure> all_cas() {
  const auto names = heard(this_process().ask([](const auto& client) { return client->cas(); }));
  if (!names) return Unexpected{names.error()};
  std::vector<control::MadCa> cas;
  for (const std::string& name : *names) {
    if (!settings().device.empty() && name != settings().device) continue;
    auto ca = this_process().ask([&](const auto& client) { return client->ca(name); });
    if (ca) cas.push_back(std::move(*ca));  // else it went meanwhile
  }
  return cas;
}

Expected<control::MadCa, Failure> find_ca(const std::string& name) {
  if (!settings().device.empty() && name != settings().device)
    return rnic::refused(ENODEV, ReasonId::mad_no_port, 0);
  return heard(this_process().ask([&](const auto& client) { return client->ca(name); }));
}

std::optional<Fitness> fitness_of(const control::MadCa& ca, int& number, bool smi) {
  if (ca.node_type == IBV_NODE_SWITCH) {
    number = 0;
    return Fitness::active;
  }
  if (number > 0) {
    const control::MadPort* const port = ca.port(static_cast<std::uint32_t>(number));
    return port == nullptr ? std::nullopt : fitness_of_named(*port, smi);
  }
  const control::MadPort* up = nullptr;
  const control::MadPort* enabled = nullptr;
  for (const control::MadPort& port : ca.ports) {
    if (smi && is_smi_disabled(port)) continue;
    if (enabled == nullptr && port.physical_state != kDisabled) enabled = &port;
    if (!is_infiniband(port)) continue;
    if (up == nullptr && port.physical_state == kLinkUp) up = &port;
    if (port.state != kActive) continue;
    number = static_cast<int>(port.number);
    return Fitness::active;
  }
  const control::MadPort* const best = up != nullptr ? up : enabled;
  if (best == nullptr) return std::nullopt;
  number = static_cast<int>(best->number);
  return Fitness::will_do;
}

Expected<Choice, Failure> choose(const char* name, int number, bool smi) {
  if (name != nullptr && number != 0) return Choice{name, number};
  if (name != nullptr) {
    const auto ca = find_ca(name);
    if (!ca) return Unexpected{ca.error()};
    if (fitness_of(*ca, number, smi)) return Choice{name, number};
    return rnic::refused(ENODEV, ReasonId::mad_no_port, number);
  }
  const auto cas = all_cas();
  std::optional<Choice> second;
  for (const control::MadCa& ca : cas ? *cas : std::vector<control::MadCa>{}) {
    int port = number;
    const auto fitness = fitness_of(ca, port, smi);
    if (fitness == Fitness::active) return Choice{ca.name, port};
    if (fitness && !second) second = Choice{ca.name, port};
  }
  return second ? *second : Choice{kDefaultCa, kDefaultPort};
}

bool choose_into(Choice& out, const char* ca, int port, bool smi) noexcept {
  return value_or(-1, [&]() -> Expected<int, Failure> {
           auto chosen = choose(ca, port, smi);
           if (!chosen) return Unexpected{chosen.error()};
           out = std::move(*chosen);
           return 0;
         }) == 0;
}

Expected<std::string, Failure> choose_ca(const char* name) {
  if (name != nullptr) return std::string(name);
  auto chosen = choose(nullptr, 0);
  if (!chosen) return Unexpected{chosen.error()};
  return std::move(chosen->ca);
}

}  // namespace softrnic::umad
