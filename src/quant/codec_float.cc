// f32, f16 and bf16: K elements a row, nothing else.
#include "quant/codec.h"

namespace motley::quant {
namespace {

using tensor::DType;

template <DType kDType>
StatusOr<RowBytes> float_row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
  return block_row_bytes(cols, 1, tensor::size_bytes(kDType), where);
}

template <DType kDType>
void float_decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  const std::byte* at = row_start(matrix.codes, row, matrix.cols * tensor::size_bytes(kDType));
  for (size_t k = 0; k < out.size(); ++k) out[k] = tensor::load_float(kDType, at, first + k);
}

template <DType kDType>
void float_encode_row(const StorageFormat& /*format*/, std::span<const float> values, EncodedMatrix& out) {
  for (float value : values) append_float(out.codes, kDType, value);
}

template <DType kDType>
constexpr Codec kFloatCodec = {float_row_bytes<kDType>, float_decode_row<kDType>, nullptr, float_encode_row<kDType>};

}  // namespace

const Codec codec_kF32 = kFloatCodec<DType::kF32>;
const Codec codec_kF16 = kFloatCodec<DType::kF16>;
const Codec codec_kBF16 = kFloatCodec<DType::kBF16>;

}  // namespace motley::quant
