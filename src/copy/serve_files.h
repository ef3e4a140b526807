// What a server does for a client that copies: reads its job, then sends or receives beneath the root.
#pragma once

#include "copy/budget.h"
#include "copy/observer.h"
#include "copy/stream.h"
#include "copy/tree.h"

namespace softrnic::copy {

struct ServedTree {
  Tree root;
  bool outside_links = false;  ///< clients may leave symbolic links that lead out of what they upload
};

/// `role` is upload or download; `memory` is for the names that the client makes this side hold. The client
/// has been told of an error when this returns one, as far as it can be told.
Result<Finished> serve_files(Stream& stream, Role role, const ServedTree& served, Budget& memory,
                             Observer& observer);

}  // namespace softrnic::copy
