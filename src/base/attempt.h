// What a lane does on a thread where nobody could be told that memory ran out.
#pragma once

#include <new>

#include "base/reason.h"

namespace softrnic {

void explain_no_memory();

/// Runs a step of a batch. False: memory ran out in it, and what it was at is lost, as on a network that
/// loses.
template <typename Step>
bool attempt(Step&& step) {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    explain_no_memory();
    return false;
  }
}

}  // namespace softrnic
