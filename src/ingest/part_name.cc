#include "ingest/part_name.h"

#include <charconv>

#include "fmt/format.h"

namespace motley::ingest {
namespace {

constexpr size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";

std::optional<uint32_t> five_digits(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.size() != kDigits || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<PartName> PartName::parse(std::string_view name, std::string_view extension) {
  if (!name.ends_with(extension)) return std::nullopt;
  name.remove_suffix(extension.size());
  constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits;
  if (name.size() < kTail) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - kTail);
  const auto number = five_digits(tail.substr(1, kDigits));
  const auto count = five_digits(tail.substr(tail.size() - kDigits));
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf || !number || !count) return std::nullopt;
  if (*number == 0 || *number > *count) return std::nullopt;
  return PartName{std::string(name.substr(0, name.size() - kTail)), *number, *count};
}

std::string PartName::text(std::string_view extension) const {
  return fmt::format("{}-{:05}-of-{:05}{}", prefix, number, count, extension);
}

}  // namespace motley::ingest
