// JSON as values, to write and to read it. The library that knows its text stands in json.cc alone: a
// compiler takes seconds for each file that includes it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace softrnic {

/// Null, a boolean, a number, a string, an array, or an object, whose members keep their order.
class Json {
 public:
  struct Member;

  Json();  ///< null
  Json(std::nullptr_t);
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  template <std::same_as<bool> T>
  Json(T truth) : Json(Value(truth)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T number) : Json(Value(static_cast<Integer<T>>(number))) {}
  template <std::floating_point T>
  Json(T number) : Json(Value(static_cast<double>(number))) {}
  /// An object: {{"name", value}, …}
  Json(std::initializer_list<Member> members);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array(std::vector<Json> elements = {});
  static Json object();
  template <typename Range>
  static Json array_of(const Range& values) {
    Json out = array();
    for (const auto& value : values) out.push_back(Json(value));
    return out;
  }
  /// Nothing: this is no JSON, or nests deeper than anything sensible.
  static std::optional<Json> parse(std::string_view text);

  // To write. What is of another kind becomes an object, or an array.
  /// The member of that name, null if it is new.
  Json& operator[](std::string_view name);
  /// Sets all members of another object.
  void update(const Json& object);
  void push_back(Json value);

  // To read. What is of another kind is empty.
  bool is_null() const;
  bool is_string() const;
  bool is_number() const;
  const std::string& string() const;
  double number() const;
  bool truth() const;
  std::span<Json> elements();
  std::span<const Json> elements() const;
  std::span<const Member> members() const;
  /// nullptr: it has none of that name.
  const Json* find(std::string_view name) const;

  /// Names may be foreign, and so is what other programs write: bytes that are no UTF-8 are replaced.
  std::string to_string() const;
  /// On lines of their own, and in ASCII, as a terminal acts upon more.
  std::string to_lines() const;

 private:
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                             std::vector<Json>, std::vector<Member>>;
  template <typename T>
  using Integer = std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>;

  struct Writer;

  explicit Json(Value value);
  template <typename T>
  T& become();

  Value value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace softrnic
