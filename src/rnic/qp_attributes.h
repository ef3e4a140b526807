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
};

/// Takes the values that `mask` names from `wanted` into `attributes`. EINVAL: a value out of range;
/// EOPNOTSUPP: path migration. On failure `attributes` is as before. Not explained yet.
Expected<void, Failure> take_attributes(const Context& context, const ibv_qp_attr& wanted, std::uint32_t mask,
                                        QpAttributes& attributes);

}  // namespace softrnic::rnic
