// compressed-tensors' packed formats: NAME.weight_packed with NAME.weight_scale. Integers in 32-bit words
// (NAME.weight_shape says how many; NAME.weight_zero_point packed along the outputs), or e2m1 nibbles in bytes with
// scales of e4m3 and one for the tensor (nvfp4) or of e8m0 (mxfp4). Layout: docs/formats.md.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeOrder;
using tensor::CodeValue;
using tensor::DType;
using tensor::OffsetKind;
using tensor::OffsetOrder;

constexpr uint64_t kWordBits = 32;

bool claims(const Module& module) { return module.has("weight_packed"); }

// --- integers in words

// Widths that do not divide a word are stored as one stream, or (by earlier versions) as whole codes of each word: the
// number of words of a row tells.
StatusOr<tensor::StorageFormat> integer_codes(const Tensor& packed, const model::RequiredWeight& required,
                                              const PackingClaim& claim) {
  const uint64_t words = packed.shape.size() == 2 && packed.shape[0] == required.rows ? packed.shape[1] : 0;
  const uint64_t all_bits = words * kWordBits;
  const uint64_t bits = claim.bits ? *claim.bits : all_bits % required.cols == 0 ? all_bits / required.cols : 0;
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped, .bits = static_cast<uint8_t>(bits)};
  format.grouping.packing = "compressed-tensors";
  const bool known = bits >= 1 && bits <= 8 && words != 0;
  const bool stream = known && words == ceil_div(required.cols * bits, kWordBits);
  const bool whole = known && words == ceil_div(required.cols, kWordBits / bits);
  REJECT_IF(!stream && !whole, "ct.packed_shape", where(packed),
            fmt::format("the words of {} x {} numbers{}", required.rows, required.cols,
                        claim.bits ? fmt::format(" of {} bits", *claim.bits) : ""),
            shape_text(packed.shape));
  format.grouping.order = stream ? CodeOrder::kWordRows : CodeOrder::kWholeCodesRows;
  format.grouping.zero_point = static_cast<uint8_t>(1u << (known ? bits - 1 : 0));
  return format;
}

StatusOr<uint32_t> find_group(const Tensor& scales, const model::RequiredWeight& required, const PackingClaim& claim) {
  const auto& shape = scales.shape;
  const uint64_t groups = shape.size() == 2 && shape[0] == required.rows ? shape[1] : 0;
  const uint64_t said = claim.group_size.value_or(0);
  const uint64_t size = groups == 1                                  ? required.cols
                        : said != 0                                  ? said
                        : groups != 0 && required.cols % groups == 0 ? required.cols / groups
                                                                     : 0;
  REJECT_IF(groups == 0 || size == 0 || ceil_div(required.cols, size) != groups, "ct.scale_shape", where(scales),
            fmt::format("a scale for each of {} rows or for groups of its {} inputs", required.rows, required.cols),
            shape_text(shape));
  return static_cast<uint32_t>(groups == 1 ? 0 : size);
}

Status check_stated_shape(const Module& module, const model::RequiredWeight& required) {
  TRY(const Tensor* tensor, need(module, "weight_shape", "ct.shape_missing"));
  TRY(const auto shape, read_integers(*tensor, 2, "ct.shape_type"));
  const std::vector<int64_t> expected = {static_cast<int64_t>(required.rows), static_cast<int64_t>(required.cols)};
  REJECT_IF(shape != expected, "ct.stated_shape", where(*tensor),
            fmt::format("{} and {}", required.rows, required.cols), fmt::format("{}", fmt::join(shape, " and ")));
  return absl::OkStatus();
}

StatusOr<BoundWeight> bind_integers(const Module& module, const Tensor& packed, const model::RequiredWeight& required,
                                    const PackingClaim& claim) {
  TRY(check_stated_shape(module, required));
  TRY(tensor::StorageFormat format, integer_codes(packed, required, claim));
  TRY(const Tensor* scales, need(module, "weight_scale", "ct.scale_missing"));
  TRY(check_type(*scales, {DType::kBF16, DType::kF16, DType::kF32}, "ct.scale_type"));
  format.scale_dtype = std::get<DType>(scales->type);
  TRY(format.group_size, find_group(*scales, required, claim));
  const Tensor* zeros = module.find("weight_zero_point");
  REJECT_IF(zeros == nullptr && claim.symmetric == false, "ct.zero_missing", where(packed),
            "weight_zero_point beside it, since the configuration says asymmetric", "none");
  if (zeros != nullptr) {
    TRY(check_type(*zeros, {DType::kI32}, "ct.zero_type"));
    TRY(check_exact_shape(*zeros, {ceil_div(required.rows * format.bits, kWordBits), scales->shape[1]},
                          "ct.zero_shape"));
    format.grouping.offset = OffsetKind::kZeroPoints;
    format.grouping.offset_order = OffsetOrder::kPackedAlongN;
  }
  const Tensor* order = module.find("weight_g_idx");
  REJECT_IF(order != nullptr, "ct.g_idx", module.where(),
            "weights in the order of their groups (actorder weight or static)", "weight_g_idx");
  TRY(BoundWeight bound, bind_grouped({.codes = &packed, .scales = scales, .offsets = zeros}, required, format));
  bound.used.push_back(module.find("weight_shape"));
  return bound;
}

// --- e2m1

StatusOr<BoundWeight> bind_e2m1(const Module& module, const Tensor& packed, const model::RequiredWeight& required) {
  TRY(check_exact_shape(packed, {required.rows, required.cols / 2}, "ct.fp4_shape"));
  TRY(const Tensor* scales, need(module, "weight_scale", "ct.fp4_scale_missing"));
  TRY(check_type(*scales, {DType::kF8E4M3, DType::kU8}, "ct.fp4_scale_type"));
  const bool nvfp4 = scales->type == StoredType(DType::kF8E4M3);
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = 4,
                               .group_size = nvfp4 ? 16u : 32u,
                               .scale_dtype = nvfp4 ? DType::kF8E4M3 : DType::kF8E8M0};
  format.grouping.packing = nvfp4 ? "compressed-tensors nvfp4" : "compressed-tensors mxfp4";
  format.grouping.value = CodeValue::kE2M1;
  TRY(check_exact_shape(*scales, {required.rows, ceil_div(required.cols, format.group_size)}, "ct.fp4_scale_shape"));
  const Tensor* outer = nullptr;
  if (nvfp4) {
    TRY(outer, need(module, "weight_global_scale", "ct.global_scale_missing"));
    TRY(check_type(*outer, {DType::kF32}, "ct.global_scale_type"));
    format.grouping.rule = tensor::ScaleRule::kOverOuter;
  }
  return bind_grouped({.codes = &packed, .scales = scales, .outer_scales = outer}, required, format);
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim) {
  const Tensor& packed = *module.find("weight_packed");
  TRY(check_type(packed, {DType::kI32, DType::kU8}, "ct.packed_type"));
  const bool words = packed.type == StoredType(DType::kI32);
  TRY(BoundWeight bound, words ? bind_integers(module, packed, required, claim) : bind_e2m1(module, packed, required));
  ignore_activation_scales(module, {"input_scale", "input_zero_point", "input_global_scale"}, bound);
  return bound;
}

}  // namespace

Packing compressed_tensors() { return {.name = "compressed-tensors", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
