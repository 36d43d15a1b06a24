// A packing that nobody writes: NAME.mirrored, f32.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

bool claims(const Module& module) { return module.has("mirrored"); }

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  const Tensor& mirrored = *module.find("mirrored");
  TRY(check_type(mirrored, {tensor::DType::kF32}, "made_up.type"));
  TRY(check_exact_shape(mirrored, {required.rows, required.cols}, "made_up.shape"));
  return bind_one_piece(mirrored, required, {.kind = tensor::StorageKind::kF32});
}

}  // namespace

Packing made_up() { return {.name = "made up", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
