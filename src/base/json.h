// JSON behind a wall: parse untrusted text into a small value with limits, write values out. Not for streaming or for
// speed. The parser in json.cc may be replaced without anyone noticing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace motley {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in file order; keys are unique

  // NOLINTBEGIN(google-explicit-constructor): what JSON can hold becomes a Json without being asked
  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(float value) : value_(double{value}) {}
  template <std::signed_integral T>
  Json(T value) : value_(int64_t{value}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(from_unsigned(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_number() const { return as_double().has_value(); }
  // nullopt (or nullptr) when the value is of another kind. An integer is also a double; 2.0 is also an integer.
  std::optional<bool> as_bool() const;
  std::optional<int64_t> as_int() const;
  std::optional<uint64_t> as_uint() const;
  std::optional<double> as_double() const;
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }

  // The member `key` of an object; nullptr when this is no object or has no such member.
  const Json* find(std::string_view key) const;
  // Same, null members treated as absent, as Hugging Face configurations use them.
  const Json* find_value(std::string_view key) const;
  // Adds or replaces a member; a null value becomes an object first.
  void set(std::string key, Json value);

  // One line (no newline) of JSON; `pretty` indents by two.
  std::string dump() const;
  std::string dump_pretty() const;

  std::string_view kind_name() const;  // "string", "number", … for messages

 private:
  // Integers are int64 whenever they fit, so that equal numbers compare and print alike.
  using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object>;
  static Value from_unsigned(uint64_t value);

  Value value_;
};

// Parses one document. `where` names it in errors. Rejects: syntax ("json.syntax"), nesting deeper than 64
// ("json.depth"), a key twice in one object ("json.duplicate_key"), text that is not UTF-8 ("json.syntax").
StatusOr<Json> parse_json(std::string_view text, std::string_view where);

}  // namespace motley
