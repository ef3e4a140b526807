// How the invariant CRC of a packet begins on an InfiniBand link (IBTA 7.8.1); what follows, from the BTH on,
// is the same as on RoCEv2.
#pragma once

#include <cstddef>
#include <span>

#include "wire/icrc.h"
#include "wire/link_header.h"

namespace softrnic::wire {

/// After the LRH of a packet without GRH: only switches see it, and they change no more than the VL.
Icrc icrc_after_lrh(std::span<const std::byte, kLrhBytes> lrh);

/// After the GRH of a packet that has one: a router makes a new LRH, so none of it is covered; nor are
/// traffic class, flow label and hop limit.
Icrc icrc_after_grh(std::span<const std::byte, kGrhBytes> grh);

}  // namespace softrnic::wire
