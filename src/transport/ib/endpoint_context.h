// What the halves of an endpoint share: the adapter they live in, the attributes, the window.
#pragma once

#include "transport/ib/host.h"
#include "transport/ib/path_window.h"

namespace softrnic::ib {

/// References into the endpoint; lives as long as it.
struct EndpointContext {
  Host& host;
  const Attributes& attributes;
  PathWindow* const& window;  ///< nullptr: unlimited
  wire::Service service = wire::Service::rc;
};

}  // namespace softrnic::ib
