// gpt-oss: experts in MXFP4 blocks, everything else as it was.
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  TRY(claims->wildcards, keys.texts("modules_to_not_convert"));
  TRY(keys.account_for_rest({"quant_method"}));
  return claims;
}

}  // namespace

Method mxfp4() { return {.name = "MXFP4", .words = {"mxfp4"}, .read = read}; }

}  // namespace motley::ingest::methods
