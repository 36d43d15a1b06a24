// MLX's float modes (mxfp4, nvfp4, mxfp8): NAME.weight (u32, packed along K) and NAME.scales (u8, one for a group of
// K), no biases. Bits and group size follow from the shapes, and only three pairs of them exist; the mode that
// config.json claims must be the one they give. Layout: docs/formats.md.
#include <array>

#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeValue;
using tensor::DType;

struct Mode {
  std::string_view name, packing;
  uint8_t bits;
  uint32_t group_size;
  CodeValue value;
  DType scale_dtype;
};
constexpr std::array kModes = {Mode{"mxfp4", "MLX mxfp4", 4, 32, CodeValue::kE2M1, DType::kF8E8M0},
                               Mode{"nvfp4", "MLX nvfp4", 4, 16, CodeValue::kE2M1, DType::kF8E4M3},
                               Mode{"mxfp8", "MLX mxfp8", 8, 32, CodeValue::kE4M3, DType::kF8E8M0}};

bool claims(const Module& module) {
  const Tensor* scales = module.find("scales");
  return module.weight != nullptr && module.weight->type == StoredType(DType::kU32) && scales != nullptr &&
         scales->type == StoredType(DType::kU8);
}

// The mode whose bits and group size make rows x cols numbers of these shapes.
StatusOr<Mode> from_shapes(const Module& module, const Tensor& scales, const model::RequiredWeight& required) {
  for (const Mode& mode : kModes) {
    const std::vector<uint64_t> codes_shape = {required.rows, required.cols * mode.bits / 32};
    const std::vector<uint64_t> scales_shape = {required.rows, required.cols / mode.group_size};
    if (required.cols % mode.group_size == 0 && module.weight->shape == codes_shape && scales.shape == scales_shape)
      return mode;
  }
  return reject(
      {.site = "mlx_float.shapes",
       .where = where(*module.weight),
       .expected = fmt::format("the shapes of {} x {} numbers in mxfp4, nvfp4 or mxfp8", required.rows, required.cols),
       .got = fmt::format("{} with scales {}", shape_text(module.weight->shape), shape_text(scales.shape))});
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim) {
  const Tensor& scales = *module.find("scales");
  const Tensor* biases = module.find("biases");
  REJECT_IF(biases != nullptr, "mlx_float.biases", where(*module.weight), "no biases beside scales of u8",
            biases == nullptr ? "" : biases->name);
  TRY(const Mode mode, from_shapes(module, scales, required));
  REJECT_IF(!claim.layout.empty() && claim.layout != mode.name, "mlx_float.mode_claimed", where(*module.weight),
            fmt::format("mode {}, as the configuration says", claim.layout),
            fmt::format("{} by the shapes", mode.name));
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = mode.bits,
                               .group_size = mode.group_size,
                               .scale_dtype = mode.scale_dtype};
  format.grouping.packing = mode.packing;
  format.grouping.value = mode.value;
  return bind_grouped({.codes = module.weight, .scales = &scales}, required, format);
}

}  // namespace

Packing mlx_float() { return {.name = "MLX float", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
