// compressed-tensors (llm-compressor): groups of modules by target, each with a scheme.
#include <algorithm>
#include <array>

#include "ingest/module_pattern.h"
#include "ingest/packing_claim.h"

namespace motley::ingest::methods {
namespace {

constexpr std::array<std::string_view, 8> kFormats = {
    "dense",          "int-quantized",        "float-quantized",      "naive-quantized",
    "pack-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized"};

struct Scheme {
  std::vector<std::string> targets;
  PackingClaim claim;
};

// The linear layers of a network are all of this class, or derived from it.
bool is_class(std::string_view target) { return target == "Linear"; }

StatusOr<bool> target_fits(const std::string& target, const ModuleName& module, std::string_view where) {
  if (target.starts_with("re:")) return matches_at_start(target.substr(3), module.stored, where);
  return target == module.stored || target == module.canonical;
}

class CompressedTensors final : public PackingClaims {
 public:
  std::vector<Scheme> schemes;
  std::vector<std::string> ignored;
  std::string where;

  // Names before patterns before classes.
  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    for (const std::string& target : ignored) {
      TRY(const bool fits, target_fits(target, module, where));
      if (fits) return PackingClaim{.plain = true};
    }
    for (const bool patterns : {false, true})
      for (const Scheme& scheme : schemes)
        for (const std::string& target : scheme.targets) {
          if (target.starts_with("re:") != patterns) continue;
          TRY(const bool fits, target_fits(target, module, where));
          if (fits) return scheme.claim;
        }
    const bool embedding = module.canonical == "embed_tokens";
    for (const Scheme& scheme : schemes)
      if (!embedding && std::any_of(scheme.targets.begin(), scheme.targets.end(), is_class)) return scheme.claim;
    return PackingClaim();
  }
};

Status read_groups(MethodConfig& keys, const std::string& format, PackingClaim& claim) {
  TRY(const auto strategy, keys.text("strategy"));
  TRY(const auto size, keys.number("group_size"));
  const Json* block = keys.value("block_structure");
  const std::string kind = strategy.value_or(size ? "group" : "tensor");
  if (kind == "tensor") {
    claim.group_size = claim.group_rows = 0;
  } else if (kind == "channel") {
    claim.group_size = 0;
    claim.group_rows = 1;
  } else if (kind == "group" || kind == "tensor_group") {
    TRY(claim.group_size, claimed_group(size, keys.where()));
    claim.group_rows = 1;
  } else {
    const Json::Array* sizes = block == nullptr ? nullptr : block->as_array();
    const bool two = kind == "block" && sizes != nullptr && sizes->size() == 2 &&
                     (*sizes)[0].as_uint().value_or(0) != 0 && (*sizes)[1].as_uint().value_or(0) != 0;
    REJECT_IF(!two, "compressed_tensors.strategy", keys.where(),
              "strategy tensor, channel, group, or block of two sizes", kind);
    if (two) claim.group_rows = (*sizes)[0].as_uint(), claim.group_size = (*sizes)[1].as_uint();
  }
  claim.layout = format;
  return absl::OkStatus();
}

StatusOr<PackingClaim> read_weights(const Json& weights, const std::string& format, const std::string& where) {
  MethodConfig keys(weights, where);
  PackingClaim claim;
  TRY(const auto bits, keys.number("num_bits"));
  REJECT_IF(!bits || *bits < 1 || *bits > 8, "compressed_tensors.bits", where, "1 to 8 num_bits", bits.value_or(0));
  // Unpacked integers fill a byte each, whatever their width.
  const bool bytes = format == "int-quantized" || format == "naive-quantized";
  claim.bits = bytes ? 8 : static_cast<uint64_t>(bits.value_or(0));
  TRY(claim.symmetric, keys.flag("symmetric"));
  TRY(const auto type, keys.text("type"));
  REJECT_IF(type && *type != "int" && *type != "float", "compressed_tensors.type", where, "type int or float", *type);
  TRY(read_groups(keys, format, claim));
  TRY(keys.account_for_rest({"actorder", "dynamic", "observer", "observer_kwargs", "scale_dtype", "zp_dtype"}));
  return claim;
}

StatusOr<Scheme> read_scheme(const std::string& name, const Json& group, const std::string& global_format,
                             std::string_view config_where) {
  MethodConfig keys(group, fmt::format("{} {}", config_where, name));
  Scheme scheme;
  TRY(scheme.targets, keys.texts("targets"));
  TRY(const auto own_format, keys.text("format"));
  const std::string format = own_format.value_or(global_format);
  REJECT_IF(std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end(), "compressed_tensors.format",
            keys.where(), "a format that motley reads", fmt::format("\"{}\"", format));
  const Json* weights = keys.value("weights");
  if (weights == nullptr) {
    scheme.claim.plain = true;
  } else {
    TRY(scheme.claim, read_weights(*weights, format, fmt::format("{} weights", keys.where())));
  }
  // How activations are rounded when the format's own engine runs it: they are kept exact here.
  TRY(keys.account_for_rest({"input_activations", "output_activations"}));
  return scheme;
}

bool is_off(const Json* value) {
  return value == nullptr || (value->as_object() != nullptr && value->as_object()->empty()) ||
         (value->find_value("format") != nullptr && value->find_value("format")->as_string() != nullptr &&
          *value->find_value("format")->as_string() == "dense");
}

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<CompressedTensors>();
  claims->where = where;
  const Json* transforms = keys.value("transform_config");
  REJECT_IF(!is_off(transforms), "compressed_tensors.transforms", where,
            "no transform_config (rotations between layers, which a loader would have to run)", "one");
  REJECT_IF(!is_off(keys.value("sparsity_config")), "compressed_tensors.sparsity", where,
            "no sparsity_config (a dense copy of the checkpoint runs)", "one");
  TRY(const auto format, keys.text("format"));
  TRY(claims->ignored, keys.texts("ignore"));
  const Json* groups = keys.value("config_groups");
  REJECT_IF(groups == nullptr || groups->as_object() == nullptr, "compressed_tensors.groups", where,
            "an object config_groups", "none");
  const Json::Object none;
  for (const auto& [name, group] : groups == nullptr || groups->as_object() == nullptr ? none : *groups->as_object()) {
    TRY(Scheme scheme, read_scheme(name, group, format.value_or("dense"), where));
    claims->schemes.push_back(std::move(scheme));
  }
  TRY(keys.account_for_rest(
      {"quant_method", "quantization_status", "global_compression_ratio", "version", "kv_cache_scheme"}));
  return claims;
}

}  // namespace

Method compressed_tensors() { return {.name = "compressed-tensors", .words = {"compressed-tensors"}, .read = read}; }

}  // namespace motley::ingest::methods
