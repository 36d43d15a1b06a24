// Values of a JSON report as text, and lines and tables of them: what the reports for people are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace motley::app {

// The value of a key, or a null where there is none.
const Json& at(const Json& object, std::string_view key);
// The items of a list, or none.
const Json::Array& items(const Json& object, std::string_view key);

// "-" for what is not there.
std::string text(const Json& value);
std::string text(const Json& object, std::string_view key);

// "NAME          VALUE\n"
std::string entry(std::string_view name, std::string_view value);

// Columns as wide as their widest cell: the first ones begin at the left, numbers end at the right.
class Table {
 public:
  explicit Table(size_t left_columns) : left_columns_(left_columns) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string render(std::string_view indent) const;

 private:
  size_t left_columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace motley::app
