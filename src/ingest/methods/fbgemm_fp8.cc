// FP8 with a scale for each row (Meta's FBGEMM, Llama 3.1 405B FP8).
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  claims->packed = {.bits = 8, .group_size = 0, .group_rows = 1};
  TRY(claims->plain, keys.texts("modules_to_not_convert"));
  TRY(keys.account_for_rest({"quant_method", "activation_scale_ub"}));
  return claims;
}

}  // namespace

Method fbgemm_fp8() { return {.name = "FBGEMM FP8", .words = {"fbgemm_fp8"}, .read = read}; }

}  // namespace motley::ingest::methods
