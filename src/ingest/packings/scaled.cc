// Whole bytes with scales: NAME.weight in e4m3, e5m2 or i8, and NAME.weight_scale (or weight_scale_inv, which is a
// factor all the same) for the tensor, for each row, for groups of a row, or for two-dimensional blocks.
// compressed-tensors' int-, float- and naive-quantized, FP8 of transformers, DeepSeek, FBGEMM and modelopt. Layout:
// docs/formats.md.
#include <algorithm>

#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeValue;
using tensor::DType;

bool is_fp8(const Tensor& tensor) {
  return tensor.type == StoredType(DType::kF8E4M3) || tensor.type == StoredType(DType::kF8E5M2);
}

bool claims(const Module& module) {
  if (module.weight == nullptr) return false;
  const bool int8 = module.weight->type == StoredType(DType::kI8) && module.has("weight_scale");
  return is_fp8(*module.weight) || int8;
}

struct Grid {
  uint32_t group_rows = 0, group_size = 0;
};

// What the shape of the scales says; blocks take their size from the configuration, since a shape cannot tell how its
// last block is cut.
StatusOr<Grid> find_grid(const Tensor& scales, const model::RequiredWeight& required, const PackingClaim& claim) {
  const auto& shape = scales.shape;
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  if (count == 1 && shape.size() <= 2) return Grid{0, 0};
  const bool rows = !shape.empty() && shape[0] == required.rows;
  if (rows && count == required.rows) return Grid{1, 0};
  const bool two = shape.size() == 2;
  if (two && rows) {
    const uint64_t said = claim.group_size.value_or(0);
    const uint64_t size = said != 0 ? said : required.cols % shape[1] == 0 ? required.cols / shape[1] : 0;
    if (size != 0 && ceil_div(required.cols, size) == shape[1]) return Grid{1, static_cast<uint32_t>(size)};
  }
  const uint64_t block_rows = claim.group_rows.value_or(0), block_cols = claim.group_size.value_or(0);
  if (two && block_rows != 0 && block_cols != 0 && shape[0] == ceil_div(required.rows, block_rows) &&
      shape[1] == ceil_div(required.cols, block_cols))
    return Grid{static_cast<uint32_t>(std::min(block_rows, required.rows)),
                static_cast<uint32_t>(std::min(block_cols, required.cols))};
  return reject({.site = "scaled.scale_shape",
                 .where = where(scales),
                 .expected = fmt::format("a scale for all, for each of {} rows, for groups of {} inputs, or blocks of "
                                         "the configuration's size",
                                         required.rows, required.cols),
                 .got = shape_text(shape)});
}

StatusOr<const Tensor*> find_scales(const Module& module) {
  const Tensor* inverse = module.find("weight_scale_inv");
  const Tensor* plain = module.find("weight_scale");
  REJECT_IF(inverse != nullptr && plain != nullptr, "scaled.two_scales", module.where(),
            "weight_scale or weight_scale_inv", "both");
  return inverse != nullptr ? inverse : need(module, "weight_scale", "scaled.scale_missing");
}

// Bytes of scales are exponents (mxfp8).
StatusOr<DType> scale_dtype(const Tensor& scales) {
  TRY(check_type(scales, {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E8M0, DType::kU8}, "scaled.scale_type"));
  const DType dtype = std::get<DType>(scales.type);
  return dtype == DType::kU8 ? DType::kF8E8M0 : dtype;
}

CodeValue value_of(const Tensor& weight) {
  if (weight.type == StoredType(DType::kF8E4M3)) return CodeValue::kE4M3;
  return weight.type == StoredType(DType::kF8E5M2) ? CodeValue::kE5M2 : CodeValue::kSigned;
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim) {
  const Tensor& weight = *module.weight;
  TRY(check_exact_shape(weight, {required.rows, required.cols}, "scaled.shape"));
  TRY(const Tensor* scales, find_scales(module));
  TRY(const Grid grid, find_grid(*scales, required, claim));
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped, .bits = 8, .group_size = grid.group_size};
  TRY(format.scale_dtype, scale_dtype(*scales));
  format.grouping.packing = is_fp8(weight) ? "FP8" : "int8";
  format.grouping.value = value_of(weight);
  format.grouping.group_rows = grid.group_rows;
  format.grouping.zero_point = 128;
  const Tensor* zeros = module.find("weight_zero_point");
  if (zeros != nullptr) {
    TRY(check_type(*zeros, {DType::kI8}, "scaled.zero_type"));
    REJECT_IF(is_fp8(weight), "scaled.zero_of_float", where(*zeros), "no zero points beside floats", zeros->name);
    format.grouping.offset = tensor::OffsetKind::kZeroPoints;
    format.grouping.offset_dtype = DType::kI8;
  }
  TRY(BoundWeight bound, bind_grouped({.codes = &weight, .scales = scales, .offsets = zeros}, required, format));
  ignore_activation_scales(module, {"input_scale", "input_zero_point", "activation_scale", "act_scale"}, bound);
  if (const Tensor* shape = module.find("weight_shape"))
    bound.ignored.emplace_back(shape, "the weight's own shape says it");
  return bound;
}

}  // namespace

Packing scaled() { return {.name = "FP8 or int8 with scales", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
