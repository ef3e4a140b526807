// rdma_set_option, as far as it is a matter of the id alone: level RDMA_OPTION_ID.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "cma/id.h"

namespace softrnic::cma {

/// EINVAL: a value of another size or out of range, or too late; ENOSYS: no such option.
Expected<void, Failure> set_option(Id& id, std::uint32_t option, Bytes value);

}  // namespace softrnic::cma
