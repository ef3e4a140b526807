#include <algorithm>
#include <array>

#include "fabric/hex.h"
#include "fabric/ibnetdiscover_format.h"
#include "fabric/line_scanner.h"

namespace softrnic::fabric {
namespace {

constexpr std::size_t kGuidDigits = 16;

struct Letter {
  char letter;
  NodeType type;
};
constexpr std::array kLetters = {
    Letter{'H', NodeType::channel_adapter},
    Letter{'S', NodeType::switch_node},
    Letter{'R', NodeType::router},
};

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

std::optional<TypedGuid> parse_typed_guid(std::string_view id) {
  if (id.size() != 2 + kGuidDigits || id[1] != '-') return std::nullopt;
  const std::string_view digits = id.substr(2);
  if (!std::all_of(digits.begin(), digits.end(), is_hex_digit)) return std::nullopt;
  for (const Letter& row : kLetters) {
    if (row.letter == id[0]) return TypedGuid{row.type, Guid(LineScanner(digits).take_hex().value_or(0))};
  }
  return std::nullopt;
}

std::string to_string(const TypedGuid& id) {
  for (const Letter& row : kLetters) {
    if (row.type == id.type) return std::string(1, row.letter) + "-" + hex16(id.guid.value);
  }
  return {};
}

}  // namespace softrnic::fabric
