#include "copy/budget.h"

namespace softrnic::copy {

Result<void> Budget::take(std::uint64_t bytes) {
  // what two threads take at once and both give back may turn a third away: it was that close
  if (used_.fetch_add(bytes) + bytes > bytes_) {
    used_ -= bytes;
    return fail(Trouble::system,
                "the names of this copy take more memory than is granted: " + std::to_string(bytes_ >> 10) +
                    " KiB (" + option_ + ")",
                ENOMEM);
  }
  Result<void> taken = whole_ != nullptr ? whole_->take(bytes) : Result<void>{};
  if (!taken) used_ -= bytes;
  return taken;
}

void Budget::give_back(std::uint64_t bytes) {
  used_ -= bytes;
  if (whole_ != nullptr) whole_->give_back(bytes);
}

}  // namespace softrnic::copy
