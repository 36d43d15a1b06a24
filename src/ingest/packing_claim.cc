#include "ingest/packing_claim.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_join.h"
#include "ingest/mlx_quantization.h"

namespace motley::ingest {
namespace methods {
#define MOTLEY_METHOD(identifier) Method identifier();
#include "ingest/methods.def"
#undef MOTLEY_METHOD
}  // namespace methods

namespace {

constexpr size_t kShownChars = 60;

std::string shown(const Json& value) { return value.dump().substr(0, kShownChars); }

std::span<const Method> all_methods() {
  static const std::array rows = {
#define MOTLEY_METHOD(identifier) methods::identifier(),
#include "ingest/methods.def"
#undef MOTLEY_METHOD
  };
  return rows;
}

// Says nothing about any module.
class NoClaims final : public PackingClaims {
  StatusOr<PackingClaim> about(const ModuleName& /*module*/) const override { return PackingClaim(); }
};

class MlxClaims final : public PackingClaims {
 public:
  explicit MlxClaims(MlxQuantization quantization) : quantization_(std::move(quantization)) {}
  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    PackingClaim claim;
    claim.plain = quantization_.says_plain(module.canonical);
    claim.packed = quantization_.says_packed(module.canonical);
    const auto parameters = quantization_.parameters(module.canonical);
    if (!parameters || claim.plain) return claim;
    claim.bits = parameters->bits;
    claim.group_size = parameters->group_size;
    claim.layout = parameters->mode;
    return claim;
  }

 private:
  MlxQuantization quantization_;
};

struct FoundConfig {
  const Json* config = nullptr;
  std::string key;
};

// Where config.json may speak of quantisation, the more telling first.
FoundConfig find_quantisation(const Json& config) {
  for (const std::string_view key : {"quantization_config", "compression_config"})
    if (const Json* value = config.find_value(key)) return {value, std::string(key)};
  const Json* inner = config.find_value("text_config");
  return inner == nullptr ? FoundConfig() : find_quantisation(*inner);
}

std::string method_of(const Json& config) {
  const Json* method = config.find_value("quant_method");
  if (method != nullptr) return method->as_string() != nullptr ? *method->as_string() : method->dump();
  for (const std::string_view key : {"load_in_4bit", "_load_in_4bit", "load_in_8bit", "_load_in_8bit"})
    if (const Json* flag = config.find_value(key); flag != nullptr && flag->as_bool() == true) return "bitsandbytes";
  return "";
}

const Method* find_method(std::string_view word) {
  for (const Method& row : all_methods())
    if (std::find(row.words.begin(), row.words.end(), word) != row.words.end()) return &row;
  return nullptr;
}

std::string method_names() {
  return absl::StrJoin(all_methods(), ", ", [](std::string* out, const Method& row) { out->append(row.name); });
}

bool says_nothing(const Json& value) {
  if (value.is_null() || value.as_bool() == false) return true;
  if (const auto* text = value.as_string()) return text->empty();
  if (const auto* array = value.as_array()) return array->empty();
  if (const auto* object = value.as_object()) return object->empty();
  return false;
}

}  // namespace

StatusOr<std::unique_ptr<PackingClaims>> read_claims(const Container& container) {
  if (container.metadata.dialect != arch::Dialect::kHuggingFace) return std::make_unique<NoClaims>();
  const Json& config = container.metadata.tree;
  TRY(std::optional<MlxQuantization> mlx, MlxQuantization::read(config, container.metadata.file));
  if (mlx) return std::make_unique<MlxClaims>(*std::move(mlx));
  const FoundConfig found = find_quantisation(config);
  if (found.config == nullptr) return std::make_unique<NoClaims>();
  const std::string where = fmt::format("{} key {}", container.metadata.file, found.key);
  const std::string word = method_of(*found.config);
  const Method* method = find_method(word);
  if (method == nullptr)
    return reject({.site = "methods.unknown",
                   .where = where,
                   .expected = fmt::format("a method that motley reads ({}, MLX)", method_names()),
                   .got = word.empty() ? "none that it names" : fmt::format("\"{}\"", word)});
  return method->read(*found.config, where);
}

const Json* MethodConfig::value(std::string_view key) {
  read_.emplace_back(key);
  return config_.find_value(key);
}

StatusOr<std::optional<int64_t>> MethodConfig::number(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const auto number = found->as_int();
  REJECT_IF(!number, "methods.number", fmt::format("{} {}", where_, key), "a whole number", shown(*found));
  return number;
}

StatusOr<std::optional<bool>> MethodConfig::flag(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const auto flag = found->as_bool();
  REJECT_IF(!flag, "methods.flag", fmt::format("{} {}", where_, key), "true or false", shown(*found));
  return flag;
}

StatusOr<std::optional<std::string>> MethodConfig::text(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::string* text = found->as_string();
  REJECT_IF(text == nullptr, "methods.text", fmt::format("{} {}", where_, key), "a string", shown(*found));
  return text == nullptr ? std::optional<std::string>() : *text;
}

StatusOr<std::vector<std::string>> MethodConfig::texts(std::string_view key) {
  const Json* found = value(key);
  std::vector<std::string> result;
  if (found == nullptr) return result;
  const Json::Array* items = found->as_array();
  REJECT_IF(items == nullptr, "methods.list", fmt::format("{} {}", where_, key), "a list of names", shown(*found));
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const std::string* text = (*items)[i].as_string();
    REJECT_IF(text == nullptr, "methods.list_item", fmt::format("{} {}", where_, key), "names", shown((*items)[i]));
    if (text != nullptr) result.push_back(*text);
  }
  return result;
}

Status MethodConfig::account_for_rest(std::span<const std::string_view> inert) const {
  const Json::Object none;
  for (const auto& [key, value] : config_.as_object() == nullptr ? none : *config_.as_object()) {
    const bool known = std::find(read_.begin(), read_.end(), key) != read_.end() ||
                       std::any_of(inert.begin(), inert.end(),
                                   [&](std::string_view pattern) { return arch::glob_matches(pattern, key); });
    REJECT_IF(!known && !says_nothing(value), "methods.key", fmt::format("{} {}", where_, key),
              "only keys whose meaning is known", shown(value));
  }
  return absl::OkStatus();
}

StatusOr<std::optional<uint64_t>> claimed_group(const std::optional<int64_t>& size, std::string_view where) {
  if (!size) return std::nullopt;
  REJECT_IF(*size < -1 || *size == 0, "methods.group_size", fmt::format("{} group_size", where),
            "a positive number, or -1 for whole rows", *size);
  return *size < 0 ? 0 : static_cast<uint64_t>(*size);
}

bool names_module(const std::vector<std::string>& names, const ModuleName& module) {
  const std::string dotted = fmt::format(".{}.", module.stored);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return !name.empty() && dotted.find(fmt::format(".{}.", name)) != std::string::npos;
  });
}

}  // namespace motley::ingest
