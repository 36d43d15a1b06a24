#include "convert/float_type.h"

#include <set>

namespace motley::convert {

using tensor::DType;
using tensor::StorageKind;

tensor::StorageFormat float_format(DType dtype) {
  if (dtype == DType::kF32) return {.kind = StorageKind::kF32};
  return {.kind = dtype == DType::kF16 ? StorageKind::kF16 : StorageKind::kBF16};
}

StatusOr<DType> float_type(const model::Model& model, const Options& options) {
  if (options.dtype) {
    for (const auto& [word, dtype] : {std::pair("f32", DType::kF32), {"f16", DType::kF16}, {"bf16", DType::kBF16}})
      if (*options.dtype == word) return dtype;
    return reject({.site = "convert.dtype", .where = "--dtype", .expected = "f32, f16 or bf16", .got = *options.dtype});
  }
  std::set<StorageKind> kinds;
  for (const auto& [role, weight] : model.weights)
    if (weight.rows > 1) kinds.insert(weight.format.kind);
  if (kinds == std::set{StorageKind::kF32}) return DType::kF32;
  return kinds == std::set{StorageKind::kBF16} ? DType::kBF16 : DType::kF16;
}

}  // namespace motley::convert
