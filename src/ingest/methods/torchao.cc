// torchao through transformers. The safetensors header describes each tensor; the configuration adds which were left.
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  TRY(claims->plain, keys.texts("modules_to_not_convert"));
  TRY(keys.account_for_rest({"quant_method", "quant_type", "quant_type_kwargs", "include_input_output_embeddings",
                             "untie_embedding_weights"}));
  return claims;
}

}  // namespace

Method torchao() { return {.name = "torchao", .words = {"torchao"}, .read = read}; }

}  // namespace motley::ingest::methods
