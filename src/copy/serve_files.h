// What a server does for a client that copies: reads its job, then sends or receives beneath the root.
#pragma once

#include "copy/observer.h"
#include "copy/stream.h"
#include "copy/tree.h"

namespace softrnic::copy {

/// `role` is upload or download. The client has been told of an error when this returns one, as far as it can be told.
Result<Finished> serve_files(Stream& stream, Role role, const Tree& root, Observer& observer);

}  // namespace softrnic::copy
