#include "app/report_text.h"

#include <algorithm>

namespace motley::app {

const Json& at(const Json& object, std::string_view key) {
  static const Json nothing;
  const Json* found = object.find_value(key);
  return found == nullptr ? nothing : *found;
}

const Json::Array& items(const Json& object, std::string_view key) {
  static const Json::Array none;
  const Json::Array* found = at(object, key).as_array();
  return found == nullptr ? none : *found;
}

std::string text(const Json& value) {
  if (const std::string* string = value.as_string()) return *string;
  if (const auto integer = value.as_int()) return fmt::format("{}", *integer);
  if (const auto real = value.as_double()) return fmt::format("{:.6g}", *real);
  if (const auto boolean = value.as_bool()) return *boolean ? "yes" : "no";
  return value.is_null() ? "-" : value.dump();
}

std::string text(const Json& object, std::string_view key) { return text(at(object, key)); }

std::string Table::render(std::string_view indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t i = 0; i < row.size(); ++i)
      line +=
          i < left_columns_ ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string entry(std::string_view name, std::string_view value) { return fmt::format("{:<14}{}\n", name, value); }

}  // namespace motley::app
