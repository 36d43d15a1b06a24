#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "simdjson.h"

namespace motley {
namespace {

constexpr size_t kMaxDepth = 64;  // deepest published configuration seen: 9

using Element = simdjson::dom::element;

StatusOr<Json> convert(Element element, std::string_view where, size_t depth);

StatusOr<Json> convert_array(simdjson::dom::array array, std::string_view where, size_t depth) {
  Json::Array result;
  result.reserve(array.size());
  for (Element item : array) {
    TRY(Json value, convert(item, where, depth + 1));
    result.push_back(std::move(value));
  }
  return Json(std::move(result));
}

StatusOr<Json> convert_object(simdjson::dom::object object, std::string_view where, size_t depth) {
  Json::Object result;
  result.reserve(object.size());
  std::unordered_set<std::string_view> keys;
  for (auto [key, item] : object) {
    REJECT_IF(!keys.insert(key).second, "json.duplicate_key", where, "each key once in an object",
              fmt::format("\"{}\" twice", key));
    TRY(Json value, convert(item, where, depth + 1));
    result.emplace_back(std::string(key), std::move(value));
  }
  return Json(std::move(result));
}

StatusOr<Json> convert(Element element, std::string_view where, size_t depth) {
  using Type = simdjson::dom::element_type;
  REJECT_IF(depth > kMaxDepth, "json.depth", where, fmt::format("JSON nested at most {} deep", kMaxDepth), "deeper");
  switch (element.type()) {
    case Type::ARRAY:
      return convert_array(element.get_array().value_unsafe(), where, depth);
    case Type::OBJECT:
      return convert_object(element.get_object().value_unsafe(), where, depth);
    case Type::INT64:
      return Json(element.get_int64().value_unsafe());
    case Type::UINT64:
      return Json(element.get_uint64().value_unsafe());
    case Type::DOUBLE:
      return Json(element.get_double().value_unsafe());
    case Type::STRING:
      return Json(element.get_string().value_unsafe());
    case Type::BOOL:
      return Json(element.get_bool().value_unsafe());
    case Type::NULL_VALUE:
      break;
  }
  return Json();
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
          out += c;
    }
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  // JSON has no infinities; null is what other writers of the field print.
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void append(std::string& out, const Json& json, int indent);

void append_break(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent), ' ');
}

// Items of an array or members of an object between `brackets`; indent < 0 means everything on one line.
template <typename Items, typename AppendItem>
void append_items(std::string& out, const Items& items, std::string_view brackets, int indent, AppendItem append_item) {
  const int inner = indent < 0 ? -1 : indent + 2;
  out += brackets[0];
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    append_break(out, inner);
    append_item(item, inner);
  }
  if (!items.empty()) append_break(out, indent);
  out += brackets[1];
}

void append(std::string& out, const Json& json, int indent) {
  if (const auto* object = json.as_object()) {
    append_items(out, *object, "{}", indent, [&](const auto& member, int inner) {
      append_string(out, member.first);
      out += inner < 0 ? ":" : ": ";
      append(out, member.second, inner);
    });
  } else if (const auto* array = json.as_array()) {
    append_items(out, *array, "[]", indent, [&](const Json& item, int inner) { append(out, item, inner); });
  } else if (const auto* text = json.as_string()) {
    append_string(out, *text);
  } else if (const auto flag = json.as_bool()) {
    out += *flag ? "true" : "false";
  } else if (const auto integer = json.as_int()) {
    out += fmt::format("{}", *integer);
  } else if (const auto natural = json.as_uint()) {
    out += fmt::format("{}", *natural);
  } else if (const auto real = json.as_double()) {
    append_double(out, *real);
  } else {
    out += "null";
  }
}

// Python writes integers of any length, and "no limit" as 1000000000000000019884624838656 into most
// tokenizer_config.json files; the parser stops at 64 bits. Such a number is a real here: ".0" goes behind its digits.
std::string with_long_integers_as_reals(std::string_view text) {
  constexpr size_t kAlwaysFits = 18;  // digits of an int64, less one
  std::string out;
  bool in_string = false;
  for (size_t i = 0, size = 1; i < text.size(); i += size) {
    const size_t number_end = in_string ? i : std::min(text.find_first_not_of("0123456789+-.eE", i), text.size());
    size = in_string && text[i] == '\\' ? 2 : std::max<size_t>(number_end - i, 1);
    const std::string_view token = text.substr(i, size);
    if (token == "\"") in_string = !in_string;
    out += token;
    if (number_end > i + kAlwaysFits && token.find_first_of(".eE") == std::string_view::npos) out += ".0";
  }
  return out;
}

}  // namespace

Json::Value Json::from_unsigned(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(value);
  return value;
}

std::optional<bool> Json::as_bool() const {
  const bool* value = std::get_if<bool>(&value_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<int64_t> Json::as_int() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<double>(&value_))
    if (*value == std::floor(*value) && std::abs(*value) < 0x1p62) return static_cast<int64_t>(*value);
  return std::nullopt;
}

std::optional<uint64_t> Json::as_uint() const {
  if (const auto* value = std::get_if<uint64_t>(&value_)) return *value;
  const auto value = as_int();
  if (value && *value >= 0) return static_cast<uint64_t>(*value);
  return std::nullopt;
}

std::optional<double> Json::as_double() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  const auto member = std::find_if(object->begin(), object->end(), [&](const auto& m) { return m.first == key; });
  return member == object->end() ? nullptr : &member->second;
}

const Json* Json::find_value(std::string_view key) const {
  const Json* value = find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object();
  Object& object = std::get<Object>(value_);
  const auto member = std::find_if(object.begin(), object.end(), [&](const auto& m) { return m.first == key; });
  if (member != object.end())
    member->second = std::move(value);
  else
    object.emplace_back(std::move(key), std::move(value));
}

std::string Json::dump() const {
  std::string out;
  append(out, *this, -1);
  return out;
}

std::string Json::dump_pretty() const {
  std::string out;
  append(out, *this, 0);
  return out;
}

std::string_view Json::kind_name() const {
  if (is_null()) return "null";
  if (as_bool()) return "boolean";
  if (as_string()) return "string";
  if (as_array()) return "array";
  if (as_object()) return "object";
  return "number";
}

StatusOr<Json> parse_json(std::string_view text, std::string_view where) {
  simdjson::dom::parser parser;
  Element root;
  auto error = parser.parse(simdjson::padded_string(text)).get(root);
  if (error == simdjson::NUMBER_ERROR)
    error = parser.parse(simdjson::padded_string(with_long_integers_as_reals(text))).get(root);
  // Nothing to fall back on when the parser refused: this check cannot be switched off.
  if (error == simdjson::DEPTH_ERROR)
    return reject(
        {.site = "json.depth", .where = std::string(where), .expected = "JSON of ordinary depth", .got = "deeper"});
  if (error)
    return reject({.site = "json.syntax",
                   .where = std::string(where),
                   .expected = "one JSON document",
                   .got = simdjson::error_message(error)});
  return convert(root, where, 1);
}

}  // namespace motley
