// The reasons by name. Files that name one include this, headers rather not: all of these are compiled again
// when the table has a new row.
#pragma once

#include "base/reason.h"

namespace softrnic {

enum class ReasonId : std::uint16_t {
#define SOFTRNIC_REASON(id, sentence, cure) id,
#include "base/reasons.def"
#undef SOFTRNIC_REASON
};
static_assert(ReasonId::none == ReasonId{});

}  // namespace softrnic
