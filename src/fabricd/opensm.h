// opensm as the fabric's subnet manager: the program of that name, unmodified, on one of its hosts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/expected.h"
#include "fabric/topology.h"
#include "fabricd/options.h"

namespace softrnic::fabricd {

class OpenSm {
 public:
  OpenSm() = default;
  ~OpenSm();
  OpenSm(const OpenSm&) = delete;
  OpenSm& operator=(const OpenSm&) = delete;

  /// On the first host of the fabric, where people begin. Its log and what it remembers are in a folder of
  /// `folder`, and go with it. A sentence.
  Expected<void, std::string> start(const Options& options, const fabric::Topology& topology,
                                    const std::string& folder);

 private:
  pid_t process_ = -1;
  std::string folder_;  ///< its own
};

/// Where its log is, in the folder of a fabric.
std::string opensm_log(const std::string& folder);

}  // namespace softrnic::fabricd
