// optimum-quanto: NAME.weight._data in i8 or FP8 with NAME.weight._scale for each row; or NAME.weight._data._data in
// bytes, groups as rows in slices that share bytes, with NAME.weight._scale and NAME.weight._shift for each group.
// Layout: docs/formats.md.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeOrder;
using tensor::CodeValue;
using tensor::DType;
using tensor::OffsetKind;

bool claims(const Module& module) { return module.has("weight._data") || module.has("weight._data._data"); }

StatusOr<BoundWeight> bind_bytes(const Tensor& codes, const Tensor& scales, const model::RequiredWeight& required) {
  TRY(check_type(codes, {DType::kI8, DType::kF8E4M3, DType::kF8E5M2}, "quanto.data_type"));
  TRY(check_exact_shape(codes, {required.rows, required.cols}, "quanto.data_shape"));
  tensor::StorageFormat format{
      .kind = tensor::StorageKind::kGrouped, .bits = 8, .scale_dtype = std::get<DType>(scales.type)};
  format.grouping.packing = "quanto";
  format.grouping.value = codes.type == StoredType(DType::kI8)       ? CodeValue::kSigned
                          : codes.type == StoredType(DType::kF8E4M3) ? CodeValue::kE4M3
                                                                     : CodeValue::kE5M2;
  format.grouping.zero_point = 128;
  const bool one = scales.range.size_bytes == tensor::size_bytes(format.scale_dtype);
  REJECT_IF(!one && scales.shape[0] != required.rows, "quanto.row_scale_shape", where(scales),
            fmt::format("one scale, or one for each of {} rows", required.rows), shape_text(scales.shape));
  format.grouping.group_rows = one ? 0 : 1;
  return bind_grouped({.codes = &codes, .scales = &scales}, required, format);
}

StatusOr<BoundWeight> bind_groups(const Module& module, const Tensor& codes, const Tensor& scales,
                                  const model::RequiredWeight& required) {
  TRY(check_type(codes, {DType::kU8}, "quanto.packed_type"));
  const uint64_t elements = required.rows * required.cols, bits = 8 * codes.range.size_bytes / elements;
  const uint64_t groups = scales.range.size_bytes / tensor::size_bytes(std::get<DType>(scales.type));
  REJECT_IF((bits != 2 && bits != 4) || 8 * codes.range.size_bytes != elements * bits, "quanto.packed_shape",
            where(codes), fmt::format("2 or 4 bits for each of {} x {} numbers", required.rows, required.cols),
            shape_text(codes.shape));
  // A scale that is not first in its shape belongs to a group of outputs.
  REJECT_IF(scales.shape.empty() || scales.shape[0] != groups || elements % groups != 0 ||
                required.cols % (elements / groups) != 0,
            "quanto.scale_shape", where(scales), fmt::format("a scale for equal groups of {} inputs", required.cols),
            shape_text(scales.shape));
  TRY(const Tensor* shift, need(module, "weight._shift", "quanto.shift_missing"));
  TRY(check_type(*shift, {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8}, "quanto.shift_type"));
  const DType shift_dtype = std::get<DType>(shift->type);
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = static_cast<uint8_t>(bits),
                               .group_size = static_cast<uint32_t>(groups == 0 ? 0 : elements / groups),
                               .scale_dtype = std::get<DType>(scales.type)};
  format.grouping.packing = "quanto";
  format.grouping.order = CodeOrder::kSlicesLowFirst;
  format.grouping.grid = tensor::GridOrder::kFlat;
  const bool integers = shift_dtype == DType::kI8 || shift_dtype == DType::kU8;
  format.grouping.offset = integers ? OffsetKind::kZeroPoints : OffsetKind::kShifts;
  format.grouping.offset_dtype = shift_dtype;
  TRY(BoundWeight bound, bind_grouped({.codes = &codes, .scales = &scales, .offsets = shift}, required, format));
  return bound;
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  TRY(const Tensor* scales, need(module, "weight._scale", "quanto.scale_missing"));
  TRY(check_type(*scales, {DType::kF32, DType::kF16, DType::kBF16}, "quanto.scale_type"));
  const Tensor* packed = module.find("weight._data._data");
  TRY(BoundWeight bound, packed != nullptr ? bind_groups(module, *packed, *scales, required)
                                           : bind_bytes(*module.find("weight._data"), *scales, required));
  ignore_activation_scales(module, {"input_scale", "output_scale"}, bound);
  return bound;
}

}  // namespace

Packing quanto() { return {.name = "quanto", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
