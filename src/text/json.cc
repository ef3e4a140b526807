#include "text/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace softrnic {
namespace {

using Library = nlohmann::ordered_json;
using Elements = std::vector<Json>;
using Members = std::vector<Json::Member>;

/// What is written here nests less; what others write must not exhaust the stack.
constexpr unsigned kDeepest = 100;

bool read(const Library& in, unsigned depth, Json& out);

bool read_elements(const Library& in, unsigned depth, Json& out) {
  out = Json::array();
  for (const Library& element : in) {
    Json value;
    if (!read(element, depth, value)) return false;
    out.push_back(std::move(value));
  }
  return true;
}

bool read_members(const Library& in, unsigned depth, Json& out) {
  out = Json::object();
  for (const auto& [name, member] : in.items())
    if (!read(member, depth, out[name])) return false;
  return true;
}

/// False: it nests too deeply.
bool read(const Library& in, unsigned depth, Json& out) {
  switch (in.type()) {
    case Library::value_t::boolean:
      out = in.get<bool>();
      return true;
    case Library::value_t::number_integer:
      out = in.get<std::int64_t>();
      return true;
    case Library::value_t::number_unsigned:
      out = in.get<std::uint64_t>();
      return true;
    case Library::value_t::number_float:
      out = in.get<double>();
      return true;
    case Library::value_t::string:
      out = in.get_ref<const std::string&>();
      return true;
    case Library::value_t::array:
      return depth < kDeepest && read_elements(in, depth + 1, out);
    case Library::value_t::object:
      return depth < kDeepest && read_members(in, depth + 1, out);
    default:
      out = nullptr;
      return true;
  }
}

}  // namespace

Json::Json() : value_(nullptr) {}
Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::initializer_list<Member> members) : value_(Members(members)) {}
Json::Json(Value value) : value_(std::move(value)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array(std::vector<Json> elements) { return Json(Value(std::move(elements))); }
Json Json::object() { return Json(Value(Members())); }

template <typename T>
T& Json::become() {
  if (T* const value = std::get_if<T>(&value_)) return *value;
  return value_.emplace<T>();
}

Json& Json::operator[](std::string_view name) {
  Members& members = become<Members>();
  const auto found = std::find_if(members.begin(), members.end(),
                                  [name](const Member& member) { return member.name == name; });
  if (found != members.end()) return found->value;
  return members.emplace_back(Member{std::string(name), nullptr}).value;
}

void Json::update(const Json& object) {
  for (const Member& member : object.members()) (*this)[member.name] = member.value;
}

void Json::push_back(Json value) { become<Elements>().push_back(std::move(value)); }

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_number() const {
  return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_) ||
         std::holds_alternative<double>(value_);
}

const std::string& Json::string() const {
  static const std::string empty;
  const auto* const text = std::get_if<std::string>(&value_);
  return text != nullptr ? *text : empty;
}

double Json::number() const {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) return static_cast<double>(value);
        return 0.0;
      },
      value_);
}

bool Json::truth() const {
  const bool* const value = std::get_if<bool>(&value_);
  return value != nullptr && *value;
}

std::span<Json> Json::elements() {
  auto* const elements = std::get_if<Elements>(&value_);
  return elements != nullptr ? std::span<Json>(*elements) : std::span<Json>();
}

std::span<const Json> Json::elements() const {
  const auto* const elements = std::get_if<Elements>(&value_);
  return elements != nullptr ? std::span<const Json>(*elements) : std::span<const Json>();
}

std::span<const Json::Member> Json::members() const {
  const auto* const members = std::get_if<Members>(&value_);
  return members != nullptr ? std::span<const Member>(*members) : std::span<const Member>();
}

const Json* Json::find(std::string_view name) const {
  for (const Member& member : members())
    if (member.name == name) return &member.value;
  return nullptr;
}

std::optional<Json> Json::parse(std::string_view text) {
  const Library parsed = Library::parse(text, nullptr, false);
  Json out;
  if (parsed.is_discarded() || !read(parsed, 0, out)) return std::nullopt;
  return out;
}

/// As the library has it.
struct Json::Writer {
  Library operator()(const std::vector<Json>& elements) const {
    Library out = Library::array();
    for (const Json& element : elements) out.push_back(std::visit(*this, element.value_));
    return out;
  }
  Library operator()(const std::vector<Member>& members) const {
    Library out = Library::object();
    for (const Member& member : members)
      out.get_ref<Library::object_t&>().emplace_back(member.name, std::visit(*this, member.value.value_));
    return out;
  }
  template <typename T>
  Library operator()(const T& scalar) const {
    return scalar;
  }
};

std::string Json::to_string() const {
  return std::visit(Writer(), value_).dump(-1, ' ', false, Library::error_handler_t::replace);
}

std::string Json::to_lines() const {
  return std::visit(Writer(), value_).dump(2, ' ', true, Library::error_handler_t::replace);
}

}  // namespace softrnic
