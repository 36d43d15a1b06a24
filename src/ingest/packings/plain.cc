// One tensor of floats for each weight.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::DType;
using tensor::StorageKind;

std::optional<StorageKind> kind_of(const StoredType& type) {
  const auto* dtype = std::get_if<DType>(&type);
  if (dtype == nullptr) return std::nullopt;
  switch (*dtype) {
    case DType::kF32:
      return StorageKind::kF32;
    case DType::kF16:
      return StorageKind::kF16;
    case DType::kBF16:
      return StorageKind::kBF16;
    default:
      return std::nullopt;
  }
}

bool claims(const Module& module) { return module.weight != nullptr && kind_of(module.weight->type).has_value(); }

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  TRY(BoundWeight bound,
      bind_one_piece(*module.weight, required, {.kind = kind_of(module.weight->type).value_or(StorageKind::kF32)}));
  // transformers gives one to matrices that its blocks do not divide, and leaves the matrix as it is.
  if (const Tensor* scale = module.find("weight_scale_inv"))
    bound.ignored.emplace_back(scale, "the weight is in floats and needs none");
  return bound;
}

}  // namespace

Packing plain() { return {.name = "f32, f16 or bf16", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
