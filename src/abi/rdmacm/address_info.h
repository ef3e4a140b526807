// Names and services to addresses, as rdma_getaddrinfo gives them.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rdmacm {

/// Made by malloc in all its parts: programs put addresses of their own into it and have them freed.
struct FreeInfo {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};
using Info = std::unique_ptr<rdma_addrinfo, FreeInfo>;

/// The arguments of rdma_getaddrinfo; each may be NULL, all of them may not (EINVAL).
struct InfoQuestion {
  const char* node;
  const char* service;
  const rdma_addrinfo* hints;
};

/// 0 and `out`, or an EAI code. `flags`: AI_… besides those of the hints. May take long, unless they are
/// AI_NUMERICHOST | AI_NUMERICSERV, which let nothing be looked up.
Expected<int, Failure> resolve(const InfoQuestion& question, int flags, Info& out);

/// Whether a subnet administrator is to be asked instead. EOPNOTSUPP, EINVAL: for what it cannot be.
Expected<bool, Failure> is_for_subnet_administrator(const InfoQuestion& question);

}  // namespace softrnic::rdmacm
