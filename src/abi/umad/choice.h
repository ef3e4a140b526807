// Which CA and port a program means that names none: the rules of umad_get_ca(3), umad_get_port(3) and
// umad_open_port(3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "control/mad_ca.h"

namespace softrnic::umad {

struct Choice {
  std::string ca;
  int port = 0;
};

/// The CAs that the process may see (SOFTRNIC_DEVICE), as the daemon orders them.
Expected<std::vector<control::MadCa>, Failure> all_cas();
Expected<control::MadCa, Failure> find_ca(const std::string& name);

/// How well a port serves. Of the port with `number`, or of the best (0), whose number goes there: an active
/// one of InfiniBand, else one whose link is up, else any that is not disabled. Nothing: no port will do.
/// `smi`: ports whose subnet management is disabled do not count.
enum class Fitness { will_do, active };
std::optional<Fitness> fitness_of(const control::MadCa& ca, int& number, bool smi);

/// `ca` NULL: the first with an active port, else the first whose port will do, else libibumad's own default.
/// `port` 0: see fitness_of(). A CA and a port that are both named are taken as they are. ENODEV: no port of
/// that CA will do.
Expected<Choice, Failure> choose(const char* ca, int port, bool smi = false);
/// The same into `out`. False, and errno.
bool choose_into(Choice& out, const char* ca, int port, bool smi = false) noexcept;
/// The same where the port does not matter.
Expected<std::string, Failure> choose_ca(const char* ca);

/// Capability bit IsSMDisabled (IBTA 14.2.5.6).
bool is_smi_disabled(const control::MadPort& port);
bool is_infiniband(const control::MadPort& port);

}  // namespace softrnic::umad
