// The environment variables of softrnic: one table with name, default, help and parser.
//
// Values are read once, at first use; a set-user-ID program ignores them all. A value that does not parse
// gets a warning and its default. SOFTRNIC_FAULTS is the exception: opening a device fails with EINVAL, as a
// test that runs without the faults it asked for proves nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace softrnic {

/// One row of the table, for help texts and for the warning about unknown variables.
struct SettingInfo {
  std::string_view name;           ///< "SOFTRNIC_LANES"
  std::string_view default_value;  ///< as it would be written
  std::string_view help;           ///< one line
};

/// Which files that a program has mapped and registered local peers map too.
enum class ShareFiles { none, fixed, all };

struct Settings {
  bool explain = false;
  std::string faults;        ///< see link/fault_plan.h for the grammar
  std::string capture;       ///< path of a pcapng file; %p is the process id
  unsigned lanes = 1;        ///< 1 … 16
  std::string daemon;        ///< path of softrnicd, empty: beside the library
  unsigned system_user = 0;  ///< who, besides root, may run the daemon of all users
  std::string device;        ///< show only this device, empty: all
  std::string host;          ///< that is emulated and the process is on, control/fabric_folder.h; empty: none
  bool wire_only = false;    ///< packets even to the same host
  ShareFiles share = ShareFiles::fixed;
  Language language = Language::english;  ///< of reasons
};

/// All rows.
std::span<const SettingInfo> setting_table();

/// Parses an environment (NAME=VALUE strings, ended by nullptr). Adds one sentence a trouble to `warnings`:
/// values that do not parse and SOFTRNIC_* names that are not in the table (with the nearest name that is).
Settings parse_settings(const char* const* environment, std::vector<std::string>& warnings);

/// The settings of this process. The first call writes the warnings to stderr and sets the language.
/// Thread-safe.
const Settings& settings();

}  // namespace softrnic
