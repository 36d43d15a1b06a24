// llama2.c v2: NAME.weight in i8, and NAME.scales in f32 for runs of elements of the matrix written row after row.
// Layout: docs/formats.md.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::DType;

bool claims(const Module& module) {
  return module.weight != nullptr && module.weight->type == StoredType(DType::kI8) && module.has("scales");
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  TRY(check_exact_shape(*module.weight, {required.rows, required.cols}, "llama2c_int8.shape"));
  const Tensor& scales = *module.find("scales");
  TRY(check_type(scales, {DType::kF32}, "llama2c_int8.scale_type"));
  const uint64_t count = scales.range.size_bytes / sizeof(float), elements = required.rows * required.cols;
  REJECT_IF(count == 0 || elements % count != 0, "llama2c_int8.scale_count", where(scales),
            fmt::format("a scale for equal runs of {} numbers", elements), count);
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = 8,
                               .group_size = static_cast<uint32_t>(count == 0 ? 1 : elements / count),
                               .scale_dtype = DType::kF32};
  format.grouping.packing = "llama2.c";
  format.grouping.value = tensor::CodeValue::kSigned;
  format.grouping.grid = tensor::GridOrder::kFlat;
  format.grouping.zero_point = 128;
  return bind_grouped({.codes = module.weight, .scales = &scales}, required, format);
}

}  // namespace

Packing llama2c_int8() { return {.name = "llama2.c int8", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
