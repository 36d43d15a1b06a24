// FP8 of transformers and DeepSeek, with a scale for each block of weights or for the whole tensor.
#include "ingest/methods/word_packed.h"

namespace motley::ingest::methods {
namespace {

class Fp8 final : public PackingClaims {
 public:
  PackingClaim packed;
  std::vector<std::string> plain;

  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    return names_module(plain, module) ? PackingClaim{.plain = true} : packed;
  }
};

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<Fp8>();
  claims->packed.bits = 8;
  TRY(const auto element, keys.text("fmt"));
  REJECT_IF(element && *element != "e4m3", "fp8.fmt", where, "fmt e4m3", *element);
  const Json* block = keys.value("weight_block_size");
  if (block != nullptr) {
    const Json::Array* sizes = block->as_array();
    const bool two = sizes != nullptr && sizes->size() == 2 && (*sizes)[0].as_uint().value_or(0) != 0 &&
                     (*sizes)[1].as_uint().value_or(0) != 0;
    REJECT_IF(!two, "fp8.block_size", where, "weight_block_size of two numbers", block->dump().substr(0, 60));
    if (two) claims->packed.group_rows = (*sizes)[0].as_uint(), claims->packed.group_size = (*sizes)[1].as_uint();
  }
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers"}) {
    TRY(const std::vector<std::string> names, keys.texts(key));
    claims->plain.insert(claims->plain.end(), names.begin(), names.end());
  }
  TRY(keys.account_for_rest({"quant_method", "activation_scheme", "scale_fmt", "dequantize", "expert_dtype",
                             "modules_to_convert", "bits", "group_size", "sym", "act_*", "autoround_version",
                             "block_name_to_quantize", "data_type", "enable_quanted_input", "provider"}));
  return claims;
}

}  // namespace

Method fp8() { return {.name = "FP8", .words = {"fp8"}, .read = read}; }

}  // namespace motley::ingest::methods
