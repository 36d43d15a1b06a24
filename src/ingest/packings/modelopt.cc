// NVIDIA's modelopt in 4 bits: NAME.weight in bytes with NAME.weight_scale. NVFP4 has e2m1 nibbles along the inputs,
// scales of e4m3 and one factor for the tensor, weight_scale_2; int4 AWQ has pairs of outputs in a byte. Its FP8 is
// like everyone's (scaled.cc). Layout: docs/formats.md.
#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeOrder;
using tensor::CodeValue;
using tensor::DType;

bool claims(const Module& module) {
  return module.weight != nullptr && module.weight->type == StoredType(DType::kU8) && module.has("weight_scale");
}

StatusOr<BoundWeight> bind_nvfp4(const Module& module, const Tensor& scales, const model::RequiredWeight& required) {
  TRY(const Tensor* outer, need(module, "weight_scale_2", "modelopt.scale_2_missing"));
  TRY(check_type(*outer, {DType::kF32}, "modelopt.scale_2_type"));
  TRY(check_exact_shape(scales, {required.rows, (required.cols + 15) / 16}, "modelopt.scale_shape"));
  tensor::StorageFormat format{
      .kind = tensor::StorageKind::kGrouped, .bits = 4, .group_size = 16, .scale_dtype = DType::kF8E4M3};
  format.grouping.packing = "modelopt NVFP4";
  format.grouping.value = CodeValue::kE2M1;
  format.grouping.rule = tensor::ScaleRule::kTimesOuter;
  return bind_grouped({.codes = module.weight, .scales = &scales, .outer_scales = outer}, required, format);
}

StatusOr<BoundWeight> bind_int4(const Module& module, const Tensor& scales, const model::RequiredWeight& required) {
  TRY(check_type(scales, {DType::kF32, DType::kF16, DType::kBF16}, "modelopt.int4_scale_type"));
  const bool two = scales.shape.size() == 2 && scales.shape[0] == required.rows;
  REJECT_IF(!two || required.cols % scales.shape[1] != 0, "modelopt.int4_scale_shape", where(scales),
            fmt::format("scales of {} rows in equal groups of {} inputs", required.rows, required.cols),
            shape_text(scales.shape));
  REJECT_IF(module.has("weight_scale_2"), "modelopt.w4a8", module.where(), "int4 with scales of one level",
            "weight_scale_2");
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = 4,
                               .group_size = static_cast<uint32_t>(two ? required.cols / scales.shape[1] : 1),
                               .scale_dtype = std::get<DType>(scales.type)};
  format.grouping.packing = "modelopt int4";
  format.grouping.value = CodeValue::kSigned;
  format.grouping.order = CodeOrder::kRowPairs;
  format.grouping.zero_point = 8;
  return bind_grouped({.codes = module.weight, .scales = &scales}, required, format);
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  const Tensor& weight = *module.weight;
  const Tensor& scales = *module.find("weight_scale");
  REJECT_IF(module.has("pre_quant_scale"), "modelopt.pre_quant_scale", where(weight),
            "inputs without a scale of their own (exported with it folded into the norm)", "pre_quant_scale");
  const bool along_inputs = weight.shape == std::vector<uint64_t>{required.rows, required.cols / 2};
  const bool along_outputs = weight.shape == std::vector<uint64_t>{required.rows / 2, required.cols};
  const bool nvfp4 = along_inputs && scales.type == StoredType(DType::kF8E4M3);
  REJECT_IF(!nvfp4 && !along_outputs, "modelopt.shape", where(weight),
            fmt::format("the bytes of {} x {} numbers of 4 bits", required.rows, required.cols),
            fmt::format("{} with scales of {}", shape_text(weight.shape), describe(scales.type)));
  TRY(BoundWeight bound, nvfp4 ? bind_nvfp4(module, scales, required) : bind_int4(module, scales, required));
  ignore_activation_scales(module, {"input_scale"}, bound);
  return bound;
}

}  // namespace

Packing modelopt() { return {.name = "modelopt", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
