// optimum-quanto through transformers; files of quanto itself have no such configuration.
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  TRY(claims->plain, keys.texts("modules_to_not_convert"));
  TRY(keys.account_for_rest({"quant_method", "weights", "activations"}));
  return claims;
}

}  // namespace

Method quanto() { return {.name = "quanto", .words = {"quanto"}, .read = read}; }

}  // namespace motley::ingest::methods
