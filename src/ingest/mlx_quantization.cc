#include "ingest/mlx_quantization.h"

#include "arch/architecture.h"

namespace motley::ingest {
namespace {

// What mlx fills in for keys that an override leaves out (mlx.nn to_quantized): not the global values.
constexpr uint64_t kDefaultBits = 4;
constexpr uint64_t kDefaultGroupSize = 64;

std::string_view without_weight(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : name;
}

StatusOr<uint64_t> number(const Json& object, std::string_view key, uint64_t otherwise, std::string_view where) {
  const Json* value = object.find_value(key);  // null counts as absent
  if (value == nullptr) return otherwise;
  const auto found = value->as_uint();
  REJECT_IF(!found || *found == 0 || *found > 4096, "mlx.config_number", fmt::format("{} key {}", where, key),
            "a small whole number", value->dump().substr(0, 80));
  return found.value_or(otherwise);
}

StatusOr<AffineParameters> read_parameters(const Json& object, std::string_view where) {
  AffineParameters parameters;
  TRY(parameters.bits, number(object, "bits", kDefaultBits, where));
  TRY(parameters.group_size, number(object, "group_size", kDefaultGroupSize, where));
  const Json* mode = object.find_value("mode");
  if (mode == nullptr) return parameters;
  REJECT_IF(mode->as_string() == nullptr, "mlx.config_mode", where, "a string as mode", mode->kind_name());
  if (mode->as_string() != nullptr) parameters.mode = *mode->as_string();
  return parameters;
}

// Beside the overrides stand the global values, and notes of quantisers about themselves.
bool names_module(std::string_view key, const Json& value) {
  if (value.is_null() || key == "quantize_input") return false;
  return value.as_object() != nullptr || value.as_bool() || key.find('.') != std::string_view::npos;
}

// `quantization` is MLX's own; `quantization_config` is a copy of it unless it names a method of someone else's.
const Json* find_object(const Json& config) {
  if (const Json* own = config.find_value("quantization")) return own;
  const Json* copy = config.find_value("quantization_config");
  if (copy == nullptr) {
    const Json* inner = config.find_value("text_config");
    return inner == nullptr ? nullptr : find_object(*inner);
  }
  return copy->find_value("quant_method") == nullptr && copy->find_value("bits") != nullptr ? copy : nullptr;
}

}  // namespace

Status MlxQuantization::read_override(const std::string& key, const Json& value, std::string_view file) {
  const std::string where = fmt::format("{} key quantization {}", file, key);
  Override entry;
  REJECT_IF(!value.as_bool() && value.as_object() == nullptr, "mlx.config_override", where, "true, false or an object",
            value.dump().substr(0, 80));
  entry.packed = value.as_bool().value_or(true);
  if (value.as_object() != nullptr) {
    TRY(entry.parameters, read_parameters(value, where));
  }
  const auto name = without_weight(arch::canonical_name(arch::Dialect::kHuggingFace, key));
  overrides_.insert_or_assign(std::string(name), std::move(entry));
  return absl::OkStatus();
}

StatusOr<std::optional<MlxQuantization>> MlxQuantization::read(const Json& config, std::string_view file) {
  MlxQuantization result;
  const Json* object = find_object(config);
  if (object == nullptr) return std::nullopt;
  const std::string where = fmt::format("{} key quantization", file);
  REJECT_IF(object->as_object() == nullptr, "mlx.config_object", where, "an object", object->kind_name());
  TRY(result.global_, read_parameters(*object, where));
  const Json::Object none;
  for (const auto& [key, value] : object->as_object() == nullptr ? none : *object->as_object()) {
    if (!names_module(key, value)) continue;
    TRY(result.read_override(key, value, file));
  }
  return result;
}

std::optional<AffineParameters> MlxQuantization::parameters(std::string_view module) const {
  const auto found = overrides_.find(module);
  if (found == overrides_.end() || !found->second.packed) return global_;
  return found->second.parameters ? found->second.parameters : global_;
}

bool MlxQuantization::says_plain(std::string_view module) const {
  const auto found = overrides_.find(module);
  return found != overrides_.end() && !found->second.packed;
}

bool MlxQuantization::says_packed(std::string_view module) const {
  const auto found = overrides_.find(module);
  return found != overrides_.end() && found->second.packed;
}

}  // namespace motley::ingest
