#include "kernels/panel.h"

#include <algorithm>

#include "kernels/panel_layout.h"

namespace motley::kernels {
namespace {

using tensor::StorageKind;

constexpr auto kZeroPoint = PanelFormat::Offset::kZeroPoint;
constexpr auto kBiases = PanelFormat::Offset::kBiases;

PanelFormat float_format(DType dtype) {
  return {.kind = PanelKind::kFloat, .dtype = dtype, .bits = 0, .group_size = 0, .zero_point = 0, .offset = kZeroPoint};
}

PanelFormat gguf_format(uint8_t bits, uint8_t zero_point, PanelFormat::Offset offset) {
  return {.kind = PanelKind::kInteger,
          .dtype = DType::kF16,
          .bits = bits,
          .group_size = 32,
          .zero_point = zero_point,
          .offset = offset};
}

void decode_integer_row(const PanelMatrix& matrix, uint32_t row, const std::byte* panel, std::span<float> out) {
  const PanelFormat& format = matrix.format;
  const IntegerBlock layout = integer_block(format);
  const bool biased = format.offset == kBiases;
  for (size_t k = 0; k < out.size(); ++k) {
    const std::byte* block = panel + k / format.group_size * layout.bytes;
    const std::byte* chunk = block + k % format.group_size / kChunkCols * chunk_bytes(format.bits);
    const float scale = tensor::load_float(format.dtype, block + layout.scales_at, row);
    const auto code = static_cast<int>(chunk_code(chunk, format.bits, static_cast<uint32_t>(k % kChunkCols), row));
    out[k] = biased ? scale * static_cast<float>(code) + tensor::load_float(format.dtype, block + layout.biases_at, row)
                    : scale * static_cast<float>(code - format.zero_point);
  }
}

void decode_super_row(uint32_t row, const std::byte* panel, std::span<float> out) {
  for (size_t k = 0; k < out.size(); ++k) {
    const std::byte* block = panel + k / kSuperBlockCols * kSuperBytes;
    const std::byte* chunk = block + k % kSuperBlockCols / kChunkCols * chunk_bytes(6);
    const size_t group = k % kSuperBlockCols / 16;
    const auto group_scale = static_cast<int8_t>(block[kSuperScalesAt + group * kPanelRows + row]);
    const float d = tensor::load_float(DType::kF16, block + kSuperScaleAt, row);
    const auto code = static_cast<int>(chunk_code(chunk, 6, static_cast<uint32_t>(k % kChunkCols), row));
    out[k] = d * static_cast<float>(group_scale) * static_cast<float>(code - 32);
  }
}

}  // namespace

uint32_t PanelFormat::activation_group() const {
  const bool floats =
      kind == PanelKind::kFloat || (kind == PanelKind::kStored && integers == quant::IntegerForm::kNone);
  return floats ? 0 : kChunkCols;
}

PanelFormat panel_format(const quant::StorageFormat& format, uint64_t cols) {
  switch (format.kind) {
    case StorageKind::kF32:
      return float_format(DType::kF32);
    case StorageKind::kF16:
      return float_format(DType::kF16);
    case StorageKind::kBF16:
      return float_format(DType::kBF16);
    case StorageKind::kMlxAffine:
      return {.kind = PanelKind::kInteger,
              .dtype = format.scale_dtype,
              .bits = format.bits,
              .group_size = static_cast<uint16_t>(format.group_size),
              .zero_point = 0,
              .offset = kBiases};
    case StorageKind::kQ4_0:
      return gguf_format(4, 8, kZeroPoint);
    case StorageKind::kQ4_1:
      return gguf_format(4, 0, kBiases);
    case StorageKind::kQ8_0:
      return gguf_format(8, 128, kZeroPoint);
    case StorageKind::kQ6_K:
      return {.kind = PanelKind::kQ6_K,
              .dtype = DType::kF16,
              .bits = 6,
              .group_size = 16,
              .zero_point = 32,
              .offset = kZeroPoint};
    default: {
      const bool whole_groups = cols % kChunkCols == 0;  // of activations
      return {.kind = PanelKind::kStored,
              .integers = whole_groups ? quant::integer_form(format, cols) : quant::IntegerForm::kNone};
    }
  }
}

IntegerBlock integer_block(const PanelFormat& format) {
  const auto scale_bytes = static_cast<uint32_t>(tensor::size_bytes(format.dtype) * kPanelRows);
  IntegerBlock block;
  block.scales_at = format.group_size / kChunkCols * chunk_bytes(format.bits);
  block.biases_at = block.scales_at + scale_bytes;
  block.bytes = format.offset == kBiases ? block.biases_at + scale_bytes : block.biases_at;
  return block;
}

uint64_t panel_bytes(const PanelFormat& format, uint64_t cols) {
  switch (format.kind) {
    case PanelKind::kFloat:
      return cols * kPanelRows * tensor::size_bytes(format.dtype);
    case PanelKind::kInteger:
      return cols / format.group_size * integer_block(format).bytes;
    case PanelKind::kQ6_K:
      return cols / kSuperBlockCols * kSuperBytes;
    case PanelKind::kStored:
      break;
  }
  return 0;
}

uint64_t matrix_bytes(const PanelMatrix& matrix) {
  if (matrix.format.kind != PanelKind::kStored) return matrix.panel_count() * panel_bytes(matrix.format, matrix.cols);
  const quant::StoredMatrix& stored = matrix.stored;
  return stored.codes.size() + stored.scales.size() + stored.offsets.size() + stored.outer_scales.size() +
         stored.scale_table.size();
}

void decode_panel_row(const PanelMatrix& matrix, uint64_t row, std::span<float> out) {
  if (matrix.format.kind == PanelKind::kStored) return quant::decode_row(matrix.stored, row, 0, out);
  const std::byte* panel = matrix.panel(row / kPanelRows);
  const auto lane = static_cast<uint32_t>(row % kPanelRows);
  switch (matrix.format.kind) {
    case PanelKind::kFloat:
      for (size_t k = 0; k < out.size(); ++k)
        out[k] = tensor::load_float(matrix.format.dtype, panel, k * kPanelRows + lane);
      return;
    case PanelKind::kInteger:
      return decode_integer_row(matrix, lane, panel, out);
    case PanelKind::kQ6_K:
      return decode_super_row(lane, panel, out);
    case PanelKind::kStored:
      return;  // above
  }
}

}  // namespace motley::kernels
