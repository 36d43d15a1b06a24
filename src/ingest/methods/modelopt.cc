// NVIDIA's modelopt: FP8, NVFP4 and int4 AWQ, told apart by their tensors; the list of modules left alone has
// wildcards.
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  TRY(const auto algorithm, keys.text("quant_algo"));
  claims->packed.layout = algorithm.value_or("");
  for (const std::string_view key : {"ignore", "exclude_modules"}) {
    TRY(const std::vector<std::string> names, keys.texts(key));
    claims->wildcards.insert(claims->wildcards.end(), names.begin(), names.end());
    claims->plain.insert(claims->plain.end(), names.begin(), names.end());
  }
  TRY(const auto size, keys.number("group_size"));
  TRY(claims->packed.group_size, claimed_group(size, where));
  TRY(keys.account_for_rest({"quant_method", "producer", "kv_cache_quant_algo", "kv_cache_scheme", "config_groups"}));
  return claims;
}

}  // namespace

Method modelopt() { return {.name = "modelopt", .words = {"modelopt"}, .read = read}; }

}  // namespace motley::ingest::methods
