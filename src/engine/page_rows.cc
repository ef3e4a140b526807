#include "engine/page_rows.h"

namespace softrnic::engine {

void PageRows::reserve(std::size_t qps) {
  if (dirty_.capacity() < dirty_.size() + qps) dirty_.reserve(2 * (dirty_.size() + qps));
}

}  // namespace softrnic::engine
