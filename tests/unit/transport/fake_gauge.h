// A gauge that tells what the test wants, and counts who looks.
#pragma once

#include "transport/ib/gauge.h"

namespace softrnic::ib {

struct FakeGauge final : Gauge {
  std::uint32_t room(TimePoint) override {
    ++looks;
    return free;
  }
  bool knows(TimePoint) override { return knowing; }
  bool reserves() const override { return reserving; }
  std::uint32_t free = 0;
  int looks = 0;
  bool knowing = true;
  bool reserving = true;
};

}  // namespace softrnic::ib
