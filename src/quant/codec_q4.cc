// GGUF Q4_0 {f16 d, 16 bytes} and Q4_1 {f16 d, f16 m, 16 bytes}: blocks of 32 inputs; byte j holds input j in its low
// and input j + 16 in its high nibble. w = d * (code - 8), or d * code + m.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/codec.h"

namespace motley::quant {
namespace {

constexpr uint64_t kBlockCols = 32;
enum class Kind : uint8_t { kQ4_0, kQ4_1 };

template <Kind kKind>
constexpr uint64_t kHeadBytes = kKind == Kind::kQ4_0 ? 2 : 4;
template <Kind kKind>
constexpr uint64_t kBlockBytes = kHeadBytes<kKind> + kBlockCols / 2;

template <Kind kKind>
StatusOr<RowBytes> q4_row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
  return block_row_bytes(cols, kBlockCols, kBlockBytes<kKind>, where);
}

template <Kind kKind>
const std::byte* block_of(const StoredMatrix& matrix, uint64_t row, size_t k) {
  return row_start(matrix.codes, row, matrix.cols / kBlockCols * kBlockBytes<kKind>) +
         k / kBlockCols * kBlockBytes<kKind>;
}

template <Kind kKind>
uint8_t code_of(const std::byte* block, size_t i) {
  const auto byte = std::to_integer<uint8_t>(block[kHeadBytes<kKind> + i % 16]);
  return i < 16 ? byte & 15 : byte >> 4;
}

template <Kind kKind>
void q4_decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out) {
  for (size_t k = 0; k < out.size(); ++k) out[k] = code_of<kKind>(block_of<kKind>(matrix, row, k), k % kBlockCols);
}

template <Kind kKind>
void q4_decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  for (size_t k = first; k < first + out.size(); ++k) {
    const std::byte* block = block_of<kKind>(matrix, row, k);
    const float scale = load_f16(block);
    const int code = code_of<kKind>(block, k % kBlockCols);
    if constexpr (kKind == Kind::kQ4_0) {
      out[k - first] = scale * static_cast<float>(code - 8);
    } else {
      out[k - first] = scale * static_cast<float>(code) + load_f16(block + 2);
    }
  }
}

template <Kind kKind>
IntegerForm q4_integer_form(const StorageFormat& /*format*/, uint64_t /*cols*/) {
  return kKind == Kind::kQ4_0 ? IntegerForm::kScaled : IntegerForm::kBiased;
}

template <Kind kKind>
void q4_decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                        std::span<float> scales, std::span<float> biases) {
  for (size_t i = 0; i < integers.size(); ++i) {
    const std::byte* block = block_of<kKind>(matrix, row, first + i);
    const int code = code_of<kKind>(block, (first + i) % kBlockCols);
    integers[i] = static_cast<int16_t>(kKind == Kind::kQ4_0 ? code - 8 : code);
    if (i % kIntegerRun != 0) continue;
    scales[i / kIntegerRun] = load_f16(block);
    biases[i / kIntegerRun] = kKind == Kind::kQ4_0 ? 0 : load_f16(block + 2);
  }
}

void append_nibbles(std::vector<std::byte>& out, const std::array<uint8_t, kBlockCols>& codes) {
  for (size_t j = 0; j < kBlockCols / 2; ++j) append_byte(out, static_cast<uint8_t>(codes[j] | (codes[j + 16] << 4)));
}

// ggml rounds (x / d + 8) down after adding one half; product and sum are exact here, as in its Python twin.
void q4_0_encode_row(const StorageFormat& /*format*/, std::span<const float> values, EncodedMatrix& out) {
  for (size_t first = 0; first < values.size(); first += kBlockCols) {
    const std::span<const float> block = values.subspan(first, kBlockCols);
    const float extreme =
        *std::max_element(block.begin(), block.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    const float scale = extreme / -8;
    const float inverse = scale == 0 ? 0 : 1 / scale;
    std::array<uint8_t, kBlockCols> codes;
    for (size_t i = 0; i < kBlockCols; ++i)
      codes[i] = static_cast<uint8_t>(std::clamp(std::trunc(double{block[i]} * double{inverse} + 8.5), 0.0, 15.0));
    append_f16(out.codes, scale);
    append_nibbles(out.codes, codes);
  }
}

void q4_1_encode_row(const StorageFormat& /*format*/, std::span<const float> values, EncodedMatrix& out) {
  for (size_t first = 0; first < values.size(); first += kBlockCols) {
    const std::span<const float> block = values.subspan(first, kBlockCols);
    const auto [low, high] = std::minmax_element(block.begin(), block.end());
    const float scale = (*high - *low) / 15;
    const float inverse = scale == 0 ? 0 : 1 / scale;
    std::array<uint8_t, kBlockCols> codes;
    for (size_t i = 0; i < kBlockCols; ++i)
      codes[i] = static_cast<uint8_t>(std::clamp(std::trunc((block[i] - *low) * inverse + 0.5f), 0.0f, 15.0f));
    append_f16(out.codes, scale);
    append_f16(out.codes, *low);
    append_nibbles(out.codes, codes);
  }
}

template <Kind kKind>
constexpr Codec q4_codec(decltype(Codec::encode_row) encode_row) {
  return {.row_bytes = q4_row_bytes<kKind>,
          .decode_row = q4_decode_row<kKind>,
          .decode_codes = q4_decode_codes<kKind>,
          .encode_row = encode_row,
          .integer_form = q4_integer_form<kKind>,
          .decode_integers = q4_decode_integers<kKind>};
}

}  // namespace

const Codec codec_kQ4_0 = q4_codec<Kind::kQ4_0>(q4_0_encode_row);
const Codec codec_kQ4_1 = q4_codec<Kind::kQ4_1>(q4_1_encode_row);

}  // namespace motley::quant
