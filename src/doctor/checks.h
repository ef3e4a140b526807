// The checks of `softrnic doctor`: one table. A check is a pure function of facts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace softrnic::doctor {

struct Check {
  std::string_view id;     ///< stable, for programs
  std::string_view title;  ///< for people
  Finding (*judge)(const Facts& facts);
};
std::span<const Check> checks();

/// Made once for every device.
struct DeviceCheck {
  std::string_view id;
  std::string_view title;
  Finding (*judge)(const DeviceFacts& device);
};
std::span<const DeviceCheck> device_checks();

struct Result {
  std::string_view id;
  std::string_view title;
  std::string device;  ///< empty: of the host
  Finding finding;
};
std::vector<Result> examine(const Facts& facts);
/// The worst of all: broken, then slow, then good; what was not checked does not count.
Outcome worst(const std::vector<Result>& results);

}  // namespace softrnic::doctor
