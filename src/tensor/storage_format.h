// The ways a weight matrix [N out, K in] may lie in a checkpoint. An id and its parameters only: geometry, decoding and
// encoding of each are in quant, fast arithmetic in kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace motley::tensor {

// Rows come from storage_formats.def: one line a format.
enum class StorageKind : uint8_t {
#define MOTLEY_STORAGE_FORMAT(kind, text) kind,
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
};
inline constexpr size_t kStorageKinds = 0
#define MOTLEY_STORAGE_FORMAT(kind, text) +1
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
    ;

// --- Grouped: codes with a scale for each group of inputs, in any of the orders that quantisers write them
// w = value(code), less a zero point, times the group's scale (plus an offset). docs/formats.md has the pictures.

// What the bits of a code stand for.
enum class CodeValue : uint8_t { kUnsigned, kSigned, kNf4, kBnbFp4, kE2M1, kE4M3, kE5M2 };

// Where the bits of code (n, k) lie. Codes of b bits; bit 0 is the lowest of the first byte.
enum class CodeOrder : uint8_t {
  kRows,             // each row is a stream of bits that ends on a byte
  kWordRows,         // the same, ending on a 32-bit word
  kWholeCodesRows,   // words of a row hold as many whole codes as fit them
  kFlatHighFirst,    // nibbles of one stream over all rows, the high one of a byte first (bitsandbytes)
  kColumns,          // each output is a stream down the words of its column (GPTQ)
  kAwqGemm,          // a word holds 8 outputs of one input, interleaved
  kAwqGemvFast,      // 16-bit words of tiles of 4 outputs and 64 inputs (AWQ gemv_fast, llm-awq)
  kSlicesHighFirst,  // rows of groups in equal slices that share bytes, the first slice in the highest bits (HQQ)
  kSlicesLowFirst,   // the same, the first slice in the lowest bits (quanto, BitNet)
  kRowPairs,         // outputs 2i and 2i + 1 share a byte (modelopt)
};

// How the scales of the grid [N / group_rows, K / group_size] lie.
enum class GridOrder : uint8_t {
  kRowMajor,
  kColumnMajor,
  kFlat,  // one scale for each group_size elements of the matrix written row after row: groups may run across rows
};

// What becomes of a stored scale before it is multiplied in.
enum class ScaleRule : uint8_t {
  kPlain,
  kTimesOuter,  // times the tensor's own scale (modelopt)
  kOverOuter,   // divided by it (compressed-tensors)
  kNested,      // table[byte] * outer[index / nested_group] + scale_offset (bitsandbytes, double quantisation)
  kOver127,     // (value * scale) / 127, as a product with f32 1/127 (bitsandbytes int8)
};

enum class OffsetKind : uint8_t {
  kZeroPoint,   // one constant for all
  kZeroPoints,  // integers, one a group
  kZeros,       // floats, one a group: (value - zero) * scale
  kShifts,      // floats, one a group: value * scale - shift
  kBiases,      // floats, one a group: value * scale + bias
};

// How the offsets of the groups are packed.
enum class OffsetOrder : uint8_t {
  kLikeScales,    // plain numbers where the scales lie
  kGptqV1,        // codes along N in the words of each group; one less than the zero point
  kGptqV2,        // the same, the zero point itself
  kAwqGemm,       // the same, interleaved like the weights
  kAwqGemv,       // codes along the groups in the words of each row
  kPackedAlongN,  // codes along N in words, [N*b/32, G] (compressed-tensors)
};

struct Grouping {
  std::string_view packing;  // whose layout it is, for people: "GPTQ"
  CodeValue value = CodeValue::kUnsigned;
  CodeOrder order = CodeOrder::kRows;
  GridOrder grid = GridOrder::kRowMajor;
  uint32_t group_rows = 1;     // outputs that share a scale; 0: all
  uint32_t padded_groups = 0;  // scales a row where the file pads them; 0: as many as there are
  ScaleRule rule = ScaleRule::kPlain;
  uint32_t nested_group = 0;  // scales that share an outer one
  float scale_offset = 0;
  OffsetKind offset = OffsetKind::kZeroPoint;
  OffsetOrder offset_order = OffsetOrder::kLikeScales;
  DType offset_dtype = DType::kF32;
  uint8_t zero_point = 0;  // kZeroPoint: of the unsigned code

  bool operator==(const Grouping&) const = default;
};

struct StorageFormat {
  StorageKind kind = StorageKind::kF32;
  // kMlxAffine and kGrouped only; zero elsewhere.
  uint8_t bits = 0;
  uint32_t group_size = 0;  // inputs that share a scale; kGrouped: 0 for all of a row
  DType scale_dtype = DType::kF32;
  Grouping grouping = {};  // kGrouped

  bool operator==(const StorageFormat&) const = default;
};

// "f16", "Q4_1", "MLX affine 4-bit, groups of 64, f16 scales", "GPTQ 4-bit, groups of 128, f16 scales, zero points".
std::string describe(const StorageFormat& format);

}  // namespace motley::tensor
