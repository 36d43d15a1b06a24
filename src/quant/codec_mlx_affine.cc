// MLX affine: a row of codes is one little-endian bit stream, scales and offsets lie apart. w = scale * code + bias.
#include <algorithm>
#include <cmath>

#include "quant/codec.h"

namespace motley::quant {
namespace {

using tensor::DType;

bool known_bits(uint8_t bits) { return (bits >= 2 && bits <= 6) || bits == 8; }
bool known_group(uint16_t group) { return group == 32 || group == 64 || group == 128; }
bool known_scale(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

StatusOr<RowBytes> mlx_row_bytes(const StorageFormat& format, uint64_t cols, std::string_view where) {
  REJECT_IF(!known_bits(format.bits), "quant.bits", where, "2, 3, 4, 5, 6 or 8 bits", int{format.bits});
  REJECT_IF(!known_group(format.group_size), "quant.group_size", where, "groups of 32, 64 or 128", format.group_size);
  REJECT_IF(!known_scale(format.scale_dtype), "quant.scale_dtype", where, "f32, f16 or bf16 scales",
            tensor::name(format.scale_dtype));
  // A group is a whole number of 4-byte words, whatever the width.
  const uint64_t code_bytes = uint64_t{format.group_size} * format.bits / 8;
  const uint64_t scale_bytes = tensor::size_bytes(format.scale_dtype);
  TRY(const RowBytes all, block_row_bytes(cols, format.group_size, code_bytes + 2 * scale_bytes, where));
  const uint64_t groups = cols / format.group_size;
  return RowBytes{
      .codes = all.codes - 2 * groups * scale_bytes, .scales = groups * scale_bytes, .offsets = groups * scale_bytes};
}

uint8_t code_of(const std::byte* codes, uint32_t bits, size_t k) {
  const size_t bit = k * bits;
  uint32_t window = std::to_integer<uint32_t>(codes[bit / 8]);
  if (bit % 8 + bits > 8) window |= std::to_integer<uint32_t>(codes[bit / 8 + 1]) << 8;
  return static_cast<uint8_t>((window >> (bit % 8)) & ((1u << bits) - 1));
}

void mlx_decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out) {
  const uint32_t bits = matrix.format.bits;
  const std::byte* codes = row_start(matrix.codes, row, matrix.cols * bits / 8);
  for (size_t k = 0; k < out.size(); ++k) out[k] = code_of(codes, bits, k);
}

void mlx_decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  const StorageFormat& format = matrix.format;
  const uint64_t groups = matrix.cols / format.group_size;
  const std::byte* codes = row_start(matrix.codes, row, matrix.cols * format.bits / 8);
  for (size_t k = first; k < first + out.size(); ++k) {
    const uint64_t group = row * groups + k / format.group_size;
    const float scale = tensor::load_float(format.scale_dtype, matrix.scales.data(), group);
    const float bias = tensor::load_float(format.scale_dtype, matrix.offsets.data(), group);
    out[k - first] = scale * static_cast<float>(code_of(codes, format.bits, k)) + bias;
  }
}

IntegerForm mlx_integer_form(const StorageFormat& /*format*/, uint64_t /*cols*/) { return IntegerForm::kBiased; }

void mlx_decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                         std::span<float> scales, std::span<float> biases) {
  const StorageFormat& format = matrix.format;
  const std::byte* codes = row_start(matrix.codes, row, matrix.cols * format.bits / 8);
  for (size_t i = 0; i < integers.size(); ++i) {
    integers[i] = code_of(codes, format.bits, first + i);
    if (i % kIntegerRun != 0) continue;
    const uint64_t group = row * (matrix.cols / format.group_size) + (first + i) / format.group_size;
    scales[i / kIntegerRun] = tensor::load_float(format.scale_dtype, matrix.scales.data(), group);
    biases[i / kIntegerRun] = tensor::load_float(format.scale_dtype, matrix.offsets.data(), group);
  }
}

struct Affine {
  float scale = 0, bias = 0;
};

// The end of larger magnitude becomes a code exactly, and zero is a whole number of steps away from it.
Affine fit_group(std::span<const float> values, float top_code) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool low_edge = std::fabs(*low) > std::fabs(*high);
  const float edge = low_edge ? *low : *high;
  const float step = std::max((*high - *low) / top_code, 1e-7f);  // 1e-7: mlx's guard against groups of one value
  const float scale = low_edge ? step : -step;
  const float edge_code = std::nearbyint(edge / scale);
  return edge_code == 0 ? Affine{scale, 0} : Affine{edge / edge_code, edge};
}

void mlx_encode_row(const StorageFormat& format, std::span<const float> values, EncodedMatrix& out) {
  const float top_code = static_cast<float>((1u << format.bits) - 1);
  uint32_t window = 0, filled = 0;
  for (size_t first = 0; first < values.size(); first += format.group_size) {
    const std::span<const float> group = values.subspan(first, format.group_size);
    const Affine fit = fit_group(group, top_code);
    for (float value : group) {
      const float code = std::clamp(std::nearbyint((value - fit.bias) / fit.scale), 0.0f, top_code);
      window |= static_cast<uint32_t>(code) << filled;
      for (filled += format.bits; filled >= 8; filled -= 8, window >>= 8)
        append_byte(out.codes, static_cast<uint8_t>(window));
    }
    append_float(out.scales, format.scale_dtype, fit.scale);
    append_float(out.offsets, format.scale_dtype, fit.bias);
  }
}

}  // namespace

const Codec codec_kMlxAffine = {.row_bytes = mlx_row_bytes,
                                .decode_row = mlx_decode_row,
                                .decode_codes = mlx_decode_codes,
                                .encode_row = mlx_encode_row,
                                .integer_form = mlx_integer_form,
                                .decode_integers = mlx_decode_integers};

}  // namespace motley::quant
