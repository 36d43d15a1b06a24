#include "arch/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "arch/architecture.h"

namespace motley::arch {
namespace {

// Parts of names of keys that have, in one family or another, changed what a network computes.
constexpr std::array<std::string_view, 28> kArithmeticWords = {
    "scale",  "scaling", "multiplier", "softcap", "soft_cap", "norm",   "rope",      "rotary",      "window", "expert",
    "router", "moe",     "bias",       "sink",    "theta",    "factor", "alibi",     "temperature", "spars",  "recurr",
    "conv",   "mamba",   "ssm",        "shared",  "lora",     "mup",    "attention", "attn"};

// Nothing asked for: null, false, zero, or empty.
bool is_off(const Json& value) {
  if (value.is_null() || value.as_bool() == false || value.as_double() == 0.0) return true;
  if (const auto* text = value.as_string()) return text->empty();
  if (const auto* array = value.as_array()) return array->empty();
  if (const auto* object = value.as_object()) return object->empty();
  return false;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// At the value that changes nothing, or not asked for.
bool is_neutral(const Json& value, double neutral) {
  const auto flag = value.as_bool();
  const auto number = flag ? std::optional(*flag ? 1.0 : 0.0) : value.as_double();
  return value.is_null() || flag == false || number == neutral;
}

bool speaks_of_arithmetic(std::string_view key) {
  const std::string name = lower(key);
  return std::any_of(kArithmeticWords.begin(), kArithmeticWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

constexpr size_t kShownChars = 60;  // enough to recognise a value, short enough for one line

std::string shown(const Json& value) {
  std::string text = value.dump();
  if (text.size() > kShownChars) text = text.substr(0, kShownChars) + "…";
  return text;
}

}  // namespace

std::string ConfigReader::where(std::string_view key) const { return fmt::format("{} key {}{}", file_, prefix_, key); }

const Json* ConfigReader::value(std::string_view key) {
  std::string full = prefix_ + std::string(key);
  const Json* found = tree_.find_value(full);
  read_.insert(std::move(full));
  return found;
}

StatusOr<std::optional<uint32_t>> ConfigReader::count(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const auto number = found->as_uint();
  REJECT_IF(!number || *number > std::numeric_limits<int32_t>::max(), "config.count", where(key),
            "a whole number from 0 to 2^31 - 1", shown(*found));
  return static_cast<uint32_t>(number.value_or(0));
}

StatusOr<std::optional<double>> ConfigReader::number(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const auto number = found->as_double();
  REJECT_IF(!number || !std::isfinite(*number), "config.number", where(key), "a finite number", shown(*found));
  return number;
}

StatusOr<std::optional<bool>> ConfigReader::flag(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const auto flag = found->as_bool();
  REJECT_IF(!flag, "config.flag", where(key), "true or false", shown(*found));
  return flag;
}

StatusOr<std::optional<std::string>> ConfigReader::text(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::string* text = found->as_string();
  REJECT_IF(text == nullptr, "config.text", where(key), "a string", shown(*found));
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

StatusOr<uint32_t> ConfigReader::required_count(std::string_view key) {
  TRY(const auto number, count(key));
  REJECT_IF(!number, "config.missing_count", where(key), "a whole number", "no such key");
  return number.value_or(0);
}

StatusOr<double> ConfigReader::required_number(std::string_view key) {
  TRY(const auto found, number(key));
  REJECT_IF(!found, "config.missing_number", where(key), "a number", "no such key");
  return found.value_or(0);
}

Status ConfigReader::account_for(const std::string& key, const Json& value, const Rules& rules,
                                 std::vector<std::string>& notes) const {
  const auto fits = [](std::string_view text) {
    return [text](std::string_view rule) { return glob_matches(rule, text); };
  };
  const std::string_view name = std::string_view(key).substr(key.starts_with(prefix_) ? prefix_.size() : 0);
  if (const auto rule = std::find_if(rules.neutral.begin(), rules.neutral.end(),
                                     [&](const NeutralKey& row) { return glob_matches(row.key, name); });
      rule != rules.neutral.end()) {
    REJECT_IF(!is_neutral(value, rule->neutral), "config.unsupported", fmt::format("{} key {}", file_, key),
              fmt::format("{} or nothing (this family does not compute it otherwise)", rule->neutral), shown(value));
    return absl::OkStatus();
  }
  if (std::any_of(rules.inert.begin(), rules.inert.end(), fits(key)) || is_off(value)) return absl::OkStatus();
  REJECT_IF(speaks_of_arithmetic(name), "config.unread", fmt::format("{} key {}", file_, key),
            "only keys whose meaning is known where the name speaks of arithmetic", shown(value));
  notes.push_back(fmt::format("key {} ({}) is not known and was not used", key, shown(value)));
  return absl::OkStatus();
}

Status ConfigReader::account_for_rest(const Rules& rules, std::vector<std::string>& notes) const {
  const Json::Object* object = tree_.as_object();
  if (object == nullptr) return absl::OkStatus();
  for (const auto& [key, value] : *object) {
    if (read_.contains(key)) continue;
    TRY(account_for(key, value, rules, notes));
  }
  return absl::OkStatus();
}

}  // namespace motley::arch
