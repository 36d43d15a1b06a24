// torchao's tensor subclasses in safetensors: NAME._weight_qdata, NAME._weight_scale and for integers
// NAME._weight_zero_point. Float8Tensor, Int8Tensor, IntxUnpackedToInt8Tensor (one code a byte) and the plain
// Int4Tensor; kinds that are laid out for one card are refused. Layout: docs/formats.md.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeValue;
using tensor::DType;
using tensor::OffsetKind;

bool claims(const Module& module) { return module.has("_weight_qdata"); }

struct Grid {
  uint32_t group_rows = 1, group_size = 0;
};

// Scales [N, G], or one for all.
StatusOr<Grid> find_grid(const Tensor& scales, const model::RequiredWeight& required) {
  const auto& shape = scales.shape;
  if (shape.empty() || shape == std::vector<uint64_t>{1} || shape == std::vector<uint64_t>{1, 1}) return Grid{0, 0};
  const bool rows = shape[0] == required.rows && (shape.size() == 1 || shape.size() == 2);
  const uint64_t groups = rows && shape.size() == 2 ? shape[1] : 1;
  REJECT_IF(!rows || required.cols % groups != 0, "torchao.scale_shape", where(scales),
            fmt::format("scales of {} rows in equal groups of {} inputs", required.rows, required.cols),
            shape_text(shape));
  return Grid{1, static_cast<uint32_t>(groups == 1 ? 0 : required.cols / groups)};
}

// Int4Tensor: nibbles along the inputs, scales and offsets [K / group, N], w = q * scale + offset.
StatusOr<BoundWeight> bind_int4(const Module& module, const Tensor& codes, const Tensor& scales,
                                const model::RequiredWeight& required) {
  TRY(const Tensor* zeros, need(module, "_weight_zero_point", "torchao.int4_zero_missing"));
  TRY(check_type(*zeros, {std::get<DType>(scales.type)}, "torchao.int4_zero_type"));
  const bool two = scales.shape.size() == 2 && scales.shape[1] == required.rows;
  REJECT_IF(!two || required.cols % scales.shape[0] != 0, "torchao.int4_scale_shape", where(scales),
            fmt::format("scales of equal groups of {} inputs by {} rows", required.cols, required.rows),
            shape_text(scales.shape));
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = 4,
                               .group_size = static_cast<uint32_t>(two ? required.cols / scales.shape[0] : 1),
                               .scale_dtype = std::get<DType>(scales.type)};
  format.grouping.packing = "torchao int4";
  format.grouping.value = CodeValue::kSigned;
  format.grouping.grid = tensor::GridOrder::kColumnMajor;
  format.grouping.offset = OffsetKind::kBiases;
  format.grouping.offset_dtype = format.scale_dtype;
  format.grouping.zero_point = 8;
  return bind_grouped({.codes = &codes, .scales = &scales, .offsets = zeros}, required, format);
}

StatusOr<BoundWeight> bind_bytes(const Module& module, const Tensor& codes, const Tensor& scales,
                                 const model::RequiredWeight& required) {
  TRY(const Grid grid, find_grid(scales, required));
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = 8,
                               .group_size = grid.group_size,
                               .scale_dtype = std::get<DType>(scales.type)};
  format.grouping.packing = "torchao";
  format.grouping.group_rows = grid.group_rows;
  format.grouping.value = codes.type == StoredType(DType::kI8) ? CodeValue::kSigned : CodeValue::kE4M3;
  format.grouping.zero_point = 128;
  const Tensor* zeros = module.find("_weight_zero_point");
  if (zeros != nullptr) {
    TRY(check_type(*zeros, {DType::kI8}, "torchao.zero_type"));
    format.grouping.offset = OffsetKind::kZeroPoints;
    format.grouping.offset_dtype = DType::kI8;
  }
  return bind_grouped({.codes = &codes, .scales = &scales, .offsets = zeros}, required, format);
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  const Tensor& codes = *module.find("_weight_qdata");
  TRY(check_type(codes, {DType::kI8, DType::kF8E4M3}, "torchao.qdata_type"));
  REJECT_IF(module.has("_weight_act_pre_scale"), "torchao.act_pre_scale", where(codes),
            "inputs without a scale of their own", "_weight_act_pre_scale");
  TRY(const Tensor* scales, need(module, "_weight_scale", "torchao.scale_missing"));
  TRY(check_type(*scales, {DType::kF32, DType::kF16, DType::kBF16}, "torchao.scale_type"));
  const bool int4 =
      codes.type == StoredType(DType::kI8) && codes.shape == std::vector<uint64_t>{required.rows, required.cols / 2};
  if (int4) return bind_int4(module, codes, *scales, required);
  TRY(check_exact_shape(codes, {required.rows, required.cols}, "torchao.shape"));
  return bind_bytes(module, codes, *scales, required);
}

}  // namespace

Packing torchao() { return {.name = "torchao", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
