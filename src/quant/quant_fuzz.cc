// Any format and shape that row_bytes() accepts decodes inside its bytes, whatever they are.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "quant/stored_matrix.h"

namespace {

namespace quant = motley::quant;
namespace tensor = motley::tensor;

// Rows of more than this would only cost time.
constexpr uint64_t kLargestRow = 1 << 16;

struct Header {
  uint8_t kind, bits, scale_dtype, rows;
  uint16_t group_size, cols;
};

std::span<const std::byte> take(std::span<const std::byte>& rest, uint64_t size) {
  const auto part = rest.first(size);
  rest = rest.subspan(size);
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Header header;
  if (size < sizeof(header)) return 0;
  std::memcpy(&header, data, sizeof(header));
  const quant::StorageFormat format{.kind = static_cast<tensor::StorageKind>(header.kind % tensor::kStorageKinds),
                                    .bits = header.bits,
                                    .group_size = header.group_size,
                                    .scale_dtype = static_cast<tensor::DType>(header.scale_dtype % 16)};
  const auto bytes = quant::row_bytes(format, header.cols, "fuzz");
  if (!bytes.ok() || bytes->total() > kLargestRow) return 0;
  // The matrix has as many rows as the input holds bytes for, in memory of exactly that size, so that a step too far is
  // seen.
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size)).subspan(sizeof(header));
  const uint64_t rows = std::min<uint64_t>(header.rows, rest.size() / bytes->total());
  const auto codes = take(rest, rows * bytes->codes), scales = take(rest, rows * bytes->scales),
             biases = take(rest, rows * bytes->biases);
  const std::vector<std::byte> own_codes(codes.begin(), codes.end()), own_scales(scales.begin(), scales.end()),
      own_biases(biases.begin(), biases.end());
  const quant::StoredMatrix matrix{format, rows, header.cols, own_codes, own_scales, own_biases};
  std::vector<float> out(header.cols);
  std::vector<uint8_t> integers(header.cols);
  for (uint64_t row = 0; row < rows; ++row) {
    quant::decode_row(matrix, row, 0, out);
    if (quant::has_codes(format)) quant::decode_codes(matrix, row, integers);
  }
  return 0;
}
