// MLX affine: NAME.weight (u32, packed along K), NAME.scales and NAME.biases (one float each for a group of K; the
// metal format of transformers calls them qbiases). Bits and group size follow from the shapes once K is known; what
// config.json claims must agree. Layout: docs/formats.md.
#include <algorithm>

#include "base/checked.h"
#include "ingest/packing.h"
#include "quant/stored_matrix.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::DType;

constexpr uint64_t kWordBits = 32;

bool is_float(const StoredType& type) {
  return type == StoredType(DType::kF16) || type == StoredType(DType::kBF16) || type == StoredType(DType::kF32);
}

bool claims(const Module& module) {
  return module.weight != nullptr && (module.has("scales") || module.weight->type == StoredType(DType::kU32));
}

struct Parameters {
  uint64_t bits = 0, group_size = 0;
};

struct Parts {
  const Tensor& codes;
  const Tensor& scales;
  const Tensor& biases;
};

StatusOr<Parts> find_parts(const Module& module) {
  const Tensor* scales = module.find("scales");
  const Tensor* biases = module.has("qbiases") ? module.find("qbiases") : module.find("biases");
  const std::string place = where(*module.weight);
  REJECT_IF(module.weight->type != StoredType(DType::kU32), "mlx.weight_dtype", place, "u32 beside scales",
            describe(module.weight->type));
  if (scales == nullptr)
    return reject({.site = "mlx.scales_missing",
                   .where = place,
                   .expected = fmt::format("{}.scales beside it", module.name),
                   .got = "none"});
  REJECT_IF(!is_float(scales->type), "mlx.scales_dtype", where(*scales), "f32, f16 or bf16 scales (mode affine)",
            describe(scales->type));
  if (biases == nullptr)
    return reject({.site = "mlx.biases_missing",
                   .where = place,
                   .expected = fmt::format("{}.biases beside it", module.name),
                   .got = "none"});
  REJECT_IF(biases->type != scales->type, "mlx.biases_dtype", where(*biases), describe(scales->type),
            describe(biases->type));
  return Parts{*module.weight, *scales, *biases};
}

// Bits and group size that make the shapes those of rows x cols numbers.
StatusOr<Parameters> from_shapes(const Parts& parts, const model::RequiredWeight& required) {
  Parameters found;
  const auto& codes = parts.codes.shape;
  REJECT_IF(codes.size() != 2 || codes[0] != required.rows, "mlx.rows", where(parts.codes),
            fmt::format("shape [{}, K*bits/32]", required.rows), shape_text(codes));
  const uint64_t words = codes.empty() ? 0 : codes.back();
  const auto bits = checked_multiply(words, kWordBits);
  REJECT_IF(!bits || *bits % required.cols != 0 || *bits / required.cols > 8, "mlx.bits", where(parts.codes),
            fmt::format("a whole number of bits up to 8 for each of {} numbers a row", required.cols),
            fmt::format("{} words", words));
  found.bits = bits.value_or(0) / required.cols;
  const auto& scales = parts.scales.shape;
  const uint64_t groups = scales.size() == 2 ? scales[1] : 0;
  REJECT_IF(
      groups == 0 || scales[0] != required.rows || required.cols % groups != 0, "mlx.scales_shape", where(parts.scales),
      fmt::format("shape [{}, G] with G groups of equal size in {}", required.rows, required.cols), shape_text(scales));
  REJECT_IF(parts.biases.shape != scales, "mlx.biases_shape", where(parts.biases), shape_text(scales),
            shape_text(parts.biases.shape));
  found.group_size = groups == 0 ? 0 : required.cols / groups;
  return found;
}

Status check_bytes(const Tensor& tensor, uint64_t row_bytes, uint64_t rows) {
  REJECT_IF(checked_multiply(row_bytes, rows) != tensor.range.size_bytes, "mlx.bytes", where(tensor),
            fmt::format("{} rows of {} bytes", rows, row_bytes), tensor.range.size_bytes);
  return absl::OkStatus();
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim) {
  TRY(const Parts parts, find_parts(module));
  TRY(const Parameters found, from_shapes(parts, required));
  REJECT_IF(!claim.layout.empty() && claim.layout != "affine", "mlx.mode", where(*module.weight), "mode affine",
            fmt::format("\"{}\"", claim.layout));
  const tensor::StorageFormat format{
      .kind = tensor::StorageKind::kMlxAffine,
      .bits = static_cast<uint8_t>(found.bits),
      .group_size = static_cast<uint32_t>(std::min<uint64_t>(found.group_size, UINT32_MAX)),
      .scale_dtype = std::get<DType>(parts.scales.type)};
  TRY(const auto row, quant::row_bytes(format, required.cols, where(parts.codes)));
  TRY(check_bytes(parts.codes, row.codes, required.rows));
  TRY(check_bytes(parts.scales, row.scales, required.rows));
  TRY(check_bytes(parts.biases, row.offsets, required.rows));
  model::Weight weight{.rows = required.rows,
                       .cols = required.cols,
                       .format = format,
                       .codes = piece_of(parts.codes),
                       .scales = piece_of(parts.scales),
                       .offsets = piece_of(parts.biases)};
  return BoundWeight{std::move(weight), {&parts.codes, &parts.scales, &parts.biases}};
}

}  // namespace

Packing mlx_affine() { return {.name = "MLX affine", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
