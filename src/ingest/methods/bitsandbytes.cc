// bitsandbytes (transformers BitsAndBytesConfig). The tensors say all that matters; modules that were left alone are
// told by their tensors too.
#include "ingest/packing_claim.h"

namespace motley::ingest::methods {
namespace {

class BitsAndBytes final : public PackingClaims {
 public:
  std::vector<std::string> skipped;
  PackingClaim packed;

  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    return names_module(skipped, module) ? PackingClaim{.plain = true} : packed;
  }
};

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<BitsAndBytes>();
  TRY(const auto four, keys.flag("load_in_4bit"));
  TRY(const auto four_private, keys.flag("_load_in_4bit"));
  TRY(const auto eight, keys.flag("load_in_8bit"));
  TRY(const auto eight_private, keys.flag("_load_in_8bit"));
  const bool is_four = four.value_or(four_private.value_or(false));
  const bool is_eight = eight.value_or(eight_private.value_or(false));
  REJECT_IF(is_four == is_eight, "bitsandbytes.width", where, "either load_in_4bit or load_in_8bit",
            is_four ? "both" : "neither");
  claims->packed.bits = is_four ? 4 : 8;
  TRY(claims->skipped, keys.texts("llm_int8_skip_modules"));
  TRY(const auto type, keys.text("bnb_4bit_quant_type"));
  // int8 files carry the 4-bit keys at their defaults.
  if (is_four) claims->packed.layout = type.value_or("fp4");
  TRY(keys.account_for_rest(
      {"quant_method", "bnb_4bit_compute_dtype", "bnb_4bit_quant_storage", "bnb_4bit_use_double_quant", "llm_int8_*"}));
  return claims;
}

}  // namespace

Method bitsandbytes() { return {.name = "bitsandbytes", .words = {"bitsandbytes", "bnb"}, .read = read}; }

}  // namespace motley::ingest::methods
