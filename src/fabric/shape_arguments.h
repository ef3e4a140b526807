// What stands after the name of a shape: "torus:4x4,hosts=2,speed=HDR" has the dimensions 4 and 4, a
// number and an option that all shapes have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "fabric/link_rate.h"

namespace softrnic::fabric {

/// A number that a shape takes as NAME=NUMBER.
struct ShapeParameter {
  std::string_view name;
  std::uint32_t standard;  ///< when it is not given; 0: it depends on others
  std::uint32_t least;
  std::uint32_t most;
  std::string_view meaning;
};

/// What may stand there without a name, as the first thing: a number that means the parameter of this
/// name, or numbers with x between them.
struct ShapePositional {
  std::string_view parameter;  ///< empty: nothing
  bool dimensions = false;     ///< several numbers; `parameter` is then only what messages call them
};

inline constexpr std::uint32_t kMinDimension = 2;
inline constexpr std::uint32_t kMaxDimension = 49151;
inline constexpr std::size_t kMaxDimensions = 6;

class ShapeArguments {
 public:
  /// The table is that of the shape `shape` and outlives this.
  static Expected<ShapeArguments, std::string> parse(std::string_view text, std::string_view shape,
                                                     std::span<const ShapeParameter> table,
                                                     ShapePositional positional);

  /// A parameter of the table: what was given, or its standard.
  std::uint32_t operator[](std::string_view name) const;
  bool has(std::string_view name) const;
  const std::vector<std::uint32_t>& dimensions() const { return dimensions_; }  ///< empty: none given
  LinkRate rate() const { return rate_; }
  std::optional<std::uint32_t> ports() const { return ports_; }  ///< of each switch

 private:
  ShapeArguments(std::string_view shape, std::span<const ShapeParameter> table)
      : shape_(shape), table_(table), given_(table.size()) {}

  // Each says what is wrong, or nothing.
  std::string take_positional(std::string_view text, ShapePositional positional);
  std::string take_dimensions(std::string_view text);
  std::string take_option(std::string_view key, std::string_view value);
  std::string take_common(std::string_view key, std::string_view value);
  std::string take_number(std::size_t row, std::string_view value);
  std::string unknown(std::string_view key) const;

  std::string_view shape_;
  std::span<const ShapeParameter> table_;
  std::vector<std::optional<std::uint32_t>> given_;  ///< by row of the table
  std::vector<std::uint32_t> dimensions_;
  LinkRate rate_;
  std::optional<std::uint32_t> ports_;
  bool has_width_ = false;
  bool has_speed_ = false;
};

}  // namespace softrnic::fabric
