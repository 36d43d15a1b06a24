// The metal kernels of transformers: MLX's affine layout under other names.
#include "ingest/methods/plain_lists.h"

namespace motley::ingest::methods {
namespace {

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<PlainLists>();
  TRY(const auto bits, keys.number("bits"));
  REJECT_IF(bits && (*bits < 1 || *bits > 8), "metal.bits", where, "1 to 8 bits", *bits);
  if (bits) claims->packed.bits = static_cast<uint64_t>(*bits);
  TRY(const auto size, keys.number("group_size"));
  TRY(claims->packed.group_size, claimed_group(size, where));
  TRY(claims->plain, keys.texts("modules_to_not_convert"));
  TRY(keys.account_for_rest({"quant_method"}));
  return claims;
}

}  // namespace

Method metal() { return {.name = "metal", .words = {"metal"}, .read = read}; }

}  // namespace motley::ingest::methods
