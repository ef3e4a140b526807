// Packets for lanes, made by hand, and what came of them.
#pragma once

#include <vector>

#include "control/client.h"

namespace softrnic::tests {

/// Sends `count` packets to every lane of `lanes`, from eight source ports.
bool send_packets(const std::vector<control::LaneGrant>& lanes, int count);

/// The packets that wait in the lane and are for it; -1 when one is for another.
int own_packets(const control::LaneGrant& lane);

}  // namespace softrnic::tests
