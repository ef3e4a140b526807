// What the process of a fabric answers, for the commands that show it. Its JSON is read as text of others:
// what is missing or of another type is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output.h"

namespace softrnic::cli {

/// Asks the fabric of that name. Nothing after a complaint.
std::optional<Json> ask_fabric_json(const std::string& fabric, const std::string& command);

/// Null where there is none.
const Json& value_of(const Json& row, std::string_view key);
/// Strings as they are, other values as JSON writes them; empty: there is none, or null. Not printable yet.
std::string text_of(const Json& row, std::string_view key);
/// 0 where there is no number.
double number_of(const Json& row, std::string_view key);
bool is_true(const Json& row, std::string_view key);

/// "host1 port 1, LID 4"; of a switch "leaf1, LID 2". Printable.
std::string endport_text(const Json& endport);
/// "4X EDR", empty without a link. Printable.
std::string link_text(const Json& port);
/// "leaf1 3". Printable.
std::string peer_text(const Json& port);

}  // namespace softrnic::cli
