// XRC domains, and the target QPs and SRQs in them (ibv_open_xrcd(3), ibv_open_qp(3)).
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "abi/verbs/objects.h"
#include "base/expected.h"
#include "base/reason.h"
#include "rnic/xrc_domain.h"

namespace softrnic::abi {

/// What all ibv_xrcd of one file and device share in this process. Guarded by hold_xrc_domains().
struct SharedXrcDomain {
  rnic::XrcDomain domain;
  /// By QPN, what the program has of each target
  std::unordered_map<std::uint32_t, std::vector<Qp*>> targets;
};

/// The one lock of all domains; it comes before those of lanes.
[[nodiscard]] std::unique_lock<std::mutex> hold_xrc_domains();

/// `qp` is a target that was just made in qp.domain.
void add_target(Qp& qp);
/// `qp` becomes one more of what the program has of a target of qp.domain. EINVAL: there is no such target.
Expected<void, Failure> join_target(Qp& qp, std::uint32_t qpn);
/// `qp` is about to be destroyed. True: it was the last, and requests do not reach the target any more.
bool remove_target(Qp& qp);

/// From now on requests of the domain may name it.
void add_srq(Srq& srq);
/// And now they may not.
void remove_srq(Srq& srq);

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);

}  // namespace softrnic::abi
