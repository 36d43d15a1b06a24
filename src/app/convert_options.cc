#include "app/convert_options.h"

#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "app/exit_status.h"
#include "base/byte_source.h"
#include "base/checked.h"

namespace motley::app {
namespace {

constexpr uint64_t kRecipeBudgetBytes = 1 << 20;

StatusOr<std::pair<std::string, std::string>> parse_module(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return usage_error(fmt::format("--module: expected GLOB=BITS:GROUP or GLOB=f16, got \"{}\"", text));
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

StatusOr<std::vector<std::string>> recipe_lines(const std::string& path) {
  TRY(const auto source, open_file(path));
  TRY(const auto bytes, read_range(*source, {.offset = 0, .size_bytes = source->size_bytes()}, kRecipeBudgetBytes));
  std::vector<std::string> lines;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('#', 1));
    const absl::string_view said = absl::StripAsciiWhitespace(parts.front());
    if (!said.empty()) lines.emplace_back(said);
  }
  return lines;
}

}  // namespace

StatusOr<uint64_t> parse_size_bytes(std::string_view option, std::string_view text) {
  constexpr auto kUnits = std::to_array<std::pair<std::string_view, uint64_t>>(
      {{"GB", 1'000'000'000}, {"MB", 1'000'000}, {"KB", 1000}, {"", 1}});
  for (const auto& [suffix, unit] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    const std::string digits(text.substr(0, text.size() - suffix.size()));
    uint64_t number = 0;
    if (!absl::SimpleAtoi(digits, &number) || number == 0) break;
    if (const auto bytes = checked_multiply(number, unit)) return *bytes;
    break;
  }
  return usage_error(fmt::format("{}: expected a size such as 500MB or 5GB, got \"{}\"", option, text));
}

StatusOr<std::vector<std::pair<std::string, std::string>>> parse_modules(
    const std::vector<std::string>& given, const std::optional<std::string>& recipe_file) {
  std::vector<std::string> lines;
  if (recipe_file) {
    TRY(lines, recipe_lines(*recipe_file));
  }
  lines.insert(lines.end(), given.begin(), given.end());
  std::vector<std::pair<std::string, std::string>> modules;
  for (const std::string& line : lines) {
    TRY(auto module, parse_module(line));
    modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace motley::app
