// One weight matrix as its checkpoint stores it, with the geometry and the scalar reference decoder and encoder of
// every storage format. This is the judge of every faster path; it is not itself fast.
//
// The parts of a format:
//   codes         everything for formats of one piece (floats, GGUF blocks), the packed codes of the others
//   scales        MLX affine: [N, K/group]; grouped formats: as their grid says
//   offsets       MLX affine: biases, [N, K/group], same dtype as the scales; grouped formats: zero points, …
//   outer scales  grouped formats with scales of two levels
//   scale table   the numbers that bytes of scales stand for (bitsandbytes, double quantisation): f32 [256]
// Floats, blocks and MLX affine hold each row apart; grouped formats need not. Layouts: docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "tensor/storage_format.h"

namespace motley::quant {

using tensor::StorageFormat;

// Bytes of all of each part; zero where the format has no such part.
struct PartBytes {
  uint64_t codes = 0, scales = 0, offsets = 0, outer_scales = 0, scale_table = 0;
  uint64_t total() const { return codes + scales + offsets + outer_scales + scale_table; }
};

// The exact bytes of a matrix. Rejects what row_bytes() rejects, and of grouped formats a shape whose codes do not fill
// their words ("quant.code_words"), a dtype of scales or offsets that there is not ("quant.scale_dtype",
// "quant.offset_dtype"), a grid that does not fit ("quant.grid").
StatusOr<PartBytes> part_bytes(const StorageFormat& format, uint64_t rows, uint64_t cols, std::string_view where);

// Whether the bytes of each row lie together in every part, so that row_bytes() may be called.
bool rows_lie_apart(const StorageFormat& format);

// Bytes of one row of each part; zero where the format has no such part.
struct RowBytes {
  uint64_t codes = 0;
  uint64_t scales = 0;
  uint64_t offsets = 0;
  uint64_t total() const { return codes + scales + offsets; }
};

// The exact bytes of a row of `cols` inputs of a format whose rows lie apart. Rejects a K that the format cannot hold
// ("quant.empty_row"; "quant.row_geometry": no multiple of the block or group), a bit width, group size or scale dtype
// that does not exist
// ("quant.bits", "quant.group_size", "quant.scale_dtype") and bytes that do not fit 63 bits ("quant.row_bytes").
// `where` names the tensor.
StatusOr<RowBytes> row_bytes(const StorageFormat& format, uint64_t cols, std::string_view where);

// Views into memory that outlives this: the map of a file, or a buffer. Unaligned.
struct StoredMatrix {
  StorageFormat format;
  uint64_t rows = 0;  // N
  uint64_t cols = 0;  // K
  std::span<const std::byte> codes = {};
  std::span<const std::byte> scales = {};
  std::span<const std::byte> offsets = {};
  std::span<const std::byte> outer_scales = {};
  std::span<const std::byte> scale_table = {};
  // Act-order (GPTQ): position k holds input input_order[k], so that groups are runs of positions. Empty: no change.
  std::span<const uint32_t> input_order = {};
};

// Positions [first, first + out.size()) of row `row` as f32: out[k] = W[row, first + k], or W[row, input_order[first +
// k]] where there is an order. Both ends lie on borders of blocks or groups (or at the end of the row). The matrix has
// been validated by part_bytes().
void decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out);

// W as integers with a scale (and a bias), which is how `fast` multiplies: the weights of a run of 16 positions are
// scale * integer + bias. An integer is at most 4096 in magnitude.
inline constexpr uint32_t kIntegerRun = 16;
enum class IntegerForm : uint8_t {
  kNone,    // floats, and runs that hold several scales
  kScaled,  // every bias is 0
  kBiased,
};
IntegerForm integer_form(const StorageFormat& format, uint64_t cols);

// Positions [first, first + integers.size()), whole runs; scales and biases are those of each run. The products are
// exact, but for tables of floats (NF4), whose entries are rounded to 1/4096.
void decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                     std::span<float> scales, std::span<float> biases);

// The values of a table's codes in order (NF4, the FP4 of bitsandbytes); empty for other kinds.
std::span<const float> code_values(tensor::CodeValue value);

// Whether the format stores integers with scales, so that decode_codes() may be called.
bool has_codes(const StorageFormat& format);

// The integer codes of a row of an integer format before scale and offset (unsigned; Q8_0 as q + 128, Q6_K as q + 32).
void decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out);

// Owned bytes of a matrix, as an encoder makes them.
struct EncodedMatrix {
  StorageFormat format;
  uint64_t rows = 0, cols = 0;
  std::vector<std::byte> codes, scales, offsets, outer_scales = {}, scale_table = {};
  std::vector<uint32_t> input_order = {};
  StoredMatrix view() const {
    return {format, rows, cols, codes, scales, offsets, outer_scales, scale_table, input_order};
  }
};

// Rounds f32 [rows, cols] into `format` by the published rule of each format (docs/formats.md). Same errors as
// row_bytes(); also rejects a format that motley only reads ("quant.read_only").
StatusOr<EncodedMatrix> encode(const StorageFormat& format, uint64_t rows, uint64_t cols,
                               std::span<const float> values);

}  // namespace motley::quant
