// JSON as text. Names in topologies are foreign, and so is what other programs write: bytes that are no UTF-8
// are replaced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace softrnic::fabricd {

template <typename Json>
std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace softrnic::fabricd
