// MLX's float modes (mxfp4, nvfp4, mxfp8): NAME.weight (u32, packed along K) and NAME.scales (u8, one for a group of
// K), no biases. Bits and group size follow from the shapes, and only three pairs of them exist; the mode that
// config.json claims must be the one they give. Layout: docs/formats.md.
#include <array>

#include "ingest/packing.h"
#include "quant/stored_matrix.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::DType;
using tensor::StorageKind;

struct Mode {
  std::string_view name;
  uint64_t bits, group_size;
  StorageKind kind;
};
constexpr std::array kModes = {Mode{"mxfp4", 4, 32, StorageKind::kMlxMxfp4},
                               Mode{"nvfp4", 4, 16, StorageKind::kMlxNvfp4},
                               Mode{"mxfp8", 8, 32, StorageKind::kMlxMxfp8}};

bool claims(const Module& module) {
  const Tensor* scales = module.find("scales");
  return scales != nullptr && scales->type == StoredType(DType::kU8) && module.weight.type == StoredType(DType::kU32);
}

// The mode whose bits and group size make rows x cols numbers of these shapes.
StatusOr<Mode> from_shapes(const Module& module, const Tensor& scales, const model::RequiredWeight& required) {
  for (const Mode& mode : kModes) {
    const std::vector<uint64_t> codes_shape = {required.rows, required.cols * mode.bits / 32};
    const std::vector<uint64_t> scales_shape = {required.rows, required.cols / mode.group_size};
    if (required.cols % mode.group_size == 0 && module.weight.shape == codes_shape && scales.shape == scales_shape)
      return mode;
  }
  return reject(
      {.site = "mlx_float.shapes",
       .where = where(module.weight),
       .expected = fmt::format("the shapes of {} x {} numbers in mxfp4, nvfp4 or mxfp8", required.rows, required.cols),
       .got = fmt::format("{} with scales {}", shape_text(module.weight.shape), shape_text(scales.shape))});
}

Status compare(const Module& module, const Mode& found, const MlxQuantization& quantization) {
  REJECT_IF(quantization.says_plain(module.name), "mlx_float.claimed_plain", where(module.weight),
            "floats, as the configuration says", "packed numbers");
  const auto claimed = quantization.parameters(module.name);
  if (!claimed) return absl::OkStatus();
  REJECT_IF(claimed->mode != found.name || claimed->bits != found.bits || claimed->group_size != found.group_size,
            "mlx_float.mode_claimed", where(module.weight),
            fmt::format("mode {} with {} bits in groups of {}, as the configuration says", claimed->mode, claimed->bits,
                        claimed->group_size),
            fmt::format("{} with {} bits in groups of {} by the shapes", found.name, found.bits, found.group_size));
  return absl::OkStatus();
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required,
                           const MlxQuantization& quantization) {
  const Tensor& scales = *module.find("scales");
  const Tensor* biases = module.find("biases");
  REJECT_IF(biases != nullptr, "mlx_float.biases", where(module.weight), "no biases beside scales of u8",
            biases == nullptr ? "" : biases->name);
  TRY(const Mode mode, from_shapes(module, scales, required));
  TRY(compare(module, mode, quantization));
  const tensor::StorageFormat format{.kind = mode.kind};
  TRY(quant::row_bytes(format, required.cols, where(module.weight)).status());
  model::Weight weight{.rows = required.rows,
                       .cols = required.cols,
                       .format = format,
                       .codes = piece_of(module.weight),
                       .scales = piece_of(scales),
                       .biases = {}};
  return BoundWeight{std::move(weight), {&module.weight, &scales}};
}

}  // namespace

Packing mlx_float() { return {.name = "MLX float", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
