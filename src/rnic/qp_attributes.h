// The values of QP attributes: which are valid, and what they mean to the transport.
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

class Context;

/// The attributes of a QP, as the program sees them and as its endpoint does.
struct QpAttributes {
  ibv_qp_attr verbs{};
  ib::Attributes transport;
  bool access_given = false;  ///< IBV_QP_ACCESS_FLAGS was among what was set

  /// The endpoint has gone to its alternate path.
  void migrate();
  /// The peer has an alternate path, too.
  void arm();
};

/// Takes the values that `mask` names from `wanted` into `attributes`. EINVAL: a value out of range,
/// path migration without an alternate path. On failure `attributes` is as before. Not explained yet.
/// IBV_MIG_MIGRATED for a QP that is armed is left to its endpoint, which goes to the alternate path.
Expected<void, Failure> take_attributes(const Context& context, const ibv_qp_attr& wanted, std::uint32_t mask,
                                        QpAttributes& attributes);

}  // namespace softrnic::rnic
