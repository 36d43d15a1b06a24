#include "quant/stored_matrix.h"

#include <array>
#include <cstring>

#include "base/checked.h"
#include "quant/codec.h"

namespace motley::quant {
namespace {

constexpr std::array kCodecs = {
#define MOTLEY_STORAGE_FORMAT(kind, text) &codec_##kind,
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
};

const Codec& codec(const StorageFormat& format) { return *kCodecs[static_cast<size_t>(format.kind)]; }

}  // namespace

StatusOr<RowBytes> row_bytes(const StorageFormat& format, uint64_t cols, std::string_view where) {
  REJECT_IF(cols == 0, "quant.empty_row", where, "at least one input", cols);
  return codec(format).row_bytes(format, cols, where);
}

bool rows_lie_apart(const StorageFormat& format) { return codec(format).row_bytes != nullptr; }

StatusOr<PartBytes> part_bytes(const StorageFormat& format, uint64_t rows, uint64_t cols, std::string_view where) {
  if (!rows_lie_apart(format)) return codec(format).part_bytes(format, rows, cols, where);
  TRY(const RowBytes row, row_bytes(format, cols, where));
  REJECT_IF(!checked_multiply(row.total(), rows), "quant.matrix_bytes", where, "a matrix of less than 2^63 bytes",
            fmt::format("{} rows of {} bytes", rows, row.total()));
  return PartBytes{.codes = rows * row.codes, .scales = rows * row.scales, .offsets = rows * row.offsets};
}

void decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  codec(matrix.format).decode_row(matrix, row, first, out);
}

IntegerForm integer_form(const StorageFormat& format, uint64_t cols) {
  const auto form = codec(format).integer_form;
  return form == nullptr ? IntegerForm::kNone : form(format, cols);
}

void decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                     std::span<float> scales, std::span<float> biases) {
  codec(matrix.format).decode_integers(matrix, row, first, integers, scales, biases);
}

void decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out) {
  codec(matrix.format).decode_codes(matrix, row, out);
}

bool has_codes(const StorageFormat& format) { return codec(format).decode_codes != nullptr; }

StatusOr<EncodedMatrix> encode(const StorageFormat& format, uint64_t rows, uint64_t cols,
                               std::span<const float> values) {
  TRY(const RowBytes bytes, row_bytes(format, cols, "encode"));
  REJECT_IF(codec(format).encode_row == nullptr, "quant.read_only", "encode", "a format that motley can write",
            tensor::describe(format));
  EncodedMatrix out{.format = format, .rows = rows, .cols = cols, .codes = {}, .scales = {}, .offsets = {}};
  out.codes.reserve(rows * bytes.codes);
  out.scales.reserve(rows * bytes.scales);
  out.offsets.reserve(rows * bytes.offsets);
  for (uint64_t row = 0; row < rows; ++row) codec(format).encode_row(format, values.subspan(row * cols, cols), out);
  return out;
}

StatusOr<RowBytes> block_row_bytes(uint64_t cols, uint64_t block_cols, uint64_t block_bytes, std::string_view where) {
  REJECT_IF(cols % block_cols != 0, "quant.row_geometry", where, fmt::format("a multiple of {} inputs", block_cols),
            cols);
  uint64_t bytes = 0;
  REJECT_IF(__builtin_mul_overflow(cols / block_cols, block_bytes, &bytes) || bytes > uint64_t{INT64_MAX},
            "quant.row_bytes", where, "a row of less than 2^63 bytes", fmt::format("{} inputs", cols));
  return RowBytes{.codes = bytes, .scales = 0, .offsets = 0};
}

void append_f16(std::vector<std::byte>& out, float value) { append_float(out, tensor::DType::kF16, value); }

void append_float(std::vector<std::byte>& out, tensor::DType dtype, float value) {
  uint32_t bits = 0;
  if (dtype == tensor::DType::kF32) {
    std::memcpy(&bits, &value, sizeof(bits));
  } else {
    bits = dtype == tensor::DType::kF16 ? tensor::f32_to_f16(value) : tensor::f32_to_bf16(value);
  }
  for (size_t i = 0; i < tensor::size_bytes(dtype); ++i) append_byte(out, static_cast<uint8_t>(bits >> (8 * i)));
}

}  // namespace motley::quant
