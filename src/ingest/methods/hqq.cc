// HQQ through transformers. Each module carries its own options as tensors.
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  TRY(claims->plain, keys.texts("skip_modules"));
  TRY(keys.account_for_rest({"quant_method", "quant_config"}));
  return claims;
}

}  // namespace

Method hqq() { return {.name = "HQQ", .words = {"hqq"}, .read = read}; }

}  // namespace motley::ingest::methods
