// GGUF Q8_0 {f16 d, int8[32]}: w = d * q.
#include <algorithm>
#include <cmath>

#include "quant/codec.h"

namespace motley::quant {
namespace {

constexpr uint64_t kBlockCols = 32;
constexpr uint64_t kBlockBytes = 34;

StatusOr<RowBytes> q8_0_row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
  return block_row_bytes(cols, kBlockCols, kBlockBytes, where);
}

const std::byte* block_of(const StoredMatrix& matrix, uint64_t row, size_t k) {
  return row_start(matrix.codes, row, matrix.cols / kBlockCols * kBlockBytes) + k / kBlockCols * kBlockBytes;
}

void q8_0_decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out) {
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = std::to_integer<uint8_t>(block_of(matrix, row, k)[2 + k % kBlockCols]) ^ 0x80u;
}

void q8_0_decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  for (size_t k = first; k < first + out.size(); ++k) {
    const std::byte* block = block_of(matrix, row, k);
    out[k - first] = load_f16(block) * static_cast<float>(static_cast<int8_t>(block[2 + k % kBlockCols]));
  }
}

IntegerForm q8_0_integer_form(const StorageFormat& /*format*/, uint64_t /*cols*/) { return IntegerForm::kScaled; }

void q8_0_decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                          std::span<float> scales, std::span<float> biases) {
  for (size_t i = 0; i < integers.size(); ++i) {
    const std::byte* block = block_of(matrix, row, first + i);
    const int code = static_cast<int8_t>(block[2 + (first + i) % kBlockCols]);
    integers[i] = static_cast<int16_t>(code);
    if (i % kIntegerRun != 0) continue;
    scales[i / kIntegerRun] = load_f16(block);
    biases[i / kIntegerRun] = 0;
  }
}

// Rounds halves away from zero, as ggml's roundf does.
void q8_0_encode_row(const StorageFormat& /*format*/, std::span<const float> values, EncodedMatrix& out) {
  for (size_t first = 0; first < values.size(); first += kBlockCols) {
    const std::span<const float> block = values.subspan(first, kBlockCols);
    float largest = 0;
    for (float value : block) largest = std::max(largest, std::fabs(value));
    const float scale = largest / 127;
    const float inverse = scale == 0 ? 0 : 1 / scale;
    append_f16(out.codes, scale);
    for (float value : block)
      append_byte(out.codes, static_cast<uint8_t>(static_cast<int8_t>(std::round(value * inverse))));
  }
}

}  // namespace

const Codec codec_kQ8_0 = {.row_bytes = q8_0_row_bytes,
                           .decode_row = q8_0_decode_row,
                           .decode_codes = q8_0_decode_codes,
                           .encode_row = q8_0_encode_row,
                           .integer_form = q8_0_integer_form,
                           .decode_integers = q8_0_decode_integers};

}  // namespace motley::quant
