// MLX's float modes: codes as in MLX affine, one byte of scale a group and no biases. w = scale * element.
//   mxfp4  e2m1 elements, e8m0 scales, groups of 32      nvfp4  e2m1, e4m3, 16      mxfp8  e4m3, e8m0, 32
#include "quant/block_codec.h"
#include "quant/small_floats.h"

namespace motley::quant {
namespace {

using SmallFloat = float (*)(uint32_t code);

template <uint64_t kBits, uint64_t kGroup, SmallFloat kElement, SmallFloat kScale>
struct MlxFloat {
  static StatusOr<RowBytes> row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
    TRY(const RowBytes all, block_row_bytes(cols, kGroup, kGroup * kBits / 8 + 1, where));
    const uint64_t groups = cols / kGroup;
    return RowBytes{.codes = all.codes - groups, .scales = groups, .biases = 0};
  }
  static void decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
    const std::byte* codes = row_start(matrix.codes, row, matrix.cols * kBits / 8);
    const std::byte* scales = row_start(matrix.scales, row, matrix.cols / kGroup);
    for (size_t k = first; k < first + out.size(); ++k) {
      const uint32_t byte = byte_at(codes, k * kBits / 8);
      const uint32_t code = kBits == 8 ? byte : k % 2 == 0 ? byte & 15 : byte >> 4;
      out[k - first] = kScale(byte_at(scales, k / kGroup)) * kElement(code);
    }
  }
  static constexpr Codec kReadOnly = {row_bytes, decode_row, nullptr, nullptr};
};

}  // namespace

const Codec codec_kMlxMxfp4 = MlxFloat<4, 32, e2m1, e8m0>::kReadOnly;
const Codec codec_kMlxNvfp4 = MlxFloat<4, 16, e2m1, e4m3>::kReadOnly;
const Codec codec_kMlxMxfp8 = MlxFloat<8, 32, e4m3, e8m0>::kReadOnly;

}  // namespace motley::quant
