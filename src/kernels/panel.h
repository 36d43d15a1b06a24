// Panels: how a device on the CPU keeps a weight matrix so that one layout serves decode (reads at memory speed) and
// prefill (register tiles), on every instruction set. 16 rows lie interleaved, so vector lanes are output rows and each
// row adds its groups in one fixed order. A panel has exactly the bytes of its 16 rows in the checkpoint: packed stays
// packed.
//
// Layout of one panel, K inputs (docs/architecture.md has the picture):
//   float      [K][16] elements of the stored dtype.
//   integer    K/G blocks, one for each group of G inputs: G/32 chunks of codes, then 16 scales, then 16 biases if any.
//     chunk    32 inputs x 16 rows of b-bit codes as bit planes, widths {8}, {4}, {2}, {4,1}, {4,2}, {2,1} for b =
//     8,4,2,5,6,3
//              (the plane with the low bits first). A plane of width p is p 64-byte vectors; vector v, byte 4*row + j,
//              bits [p*i, p*i+p) hold input 4*(i + (8/p)*v) + j of the chunk, for i in [0, 8/p).
//   Q6_K       K/256 blocks: 8 chunks of 6-bit codes, then int8 scales [16 groups][16 rows], then f16 d [16 rows].
//   stored     every other format: no panels at all, but the parts of the whole matrix as their checkpoint holds them.
// Codes are unsigned; a format whose codes mean q - z for a constant z (Q4_0: 8, Q8_0: 128, Q6_K: 32) stores no biases.
// The last panel of a matrix whose N is no multiple of 16 is filled up with rows of zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/stored_matrix.h"

namespace motley::kernels {

using tensor::DType;

inline constexpr uint32_t kPanelRows = 16;
inline constexpr uint32_t kChunkCols = 32;

enum class PanelKind : uint8_t { kFloat, kInteger, kQ6_K, kStored };

struct PanelFormat {
  PanelKind kind = PanelKind::kFloat;
  DType dtype = DType::kF32;  // kFloat: of the elements; kInteger: of scales and biases
  uint8_t bits = 0;           // kInteger: 2, 3, 4, 5, 6, 8
  uint16_t group_size = 0;    // kInteger: 32, 64, 128
  uint8_t zero_point = 0;     // kInteger without biases: w = scale * (code - zero_point)
  enum class Offset : uint8_t { kZeroPoint, kBiases } offset = Offset::kZeroPoint;

  quant::IntegerForm integers = quant::IntegerForm::kNone;  // kStored: what `fast` multiplies

  // Inputs that share one activation scale: 32, or 0 where fast == exact (kFloat, and kStored without integers). Wider
  // groups were no faster on AVX2 and cost accuracy: docs/experiments.md.
  uint32_t activation_group() const;
  bool operator==(const PanelFormat&) const = default;
};

PanelFormat panel_format(const quant::StorageFormat& format, uint64_t cols);

// Bytes of one panel of K inputs; not for kStored.
uint64_t panel_bytes(const PanelFormat& format, uint64_t cols);

// A matrix in panels, owned by a device. `panels` is 64-byte aligned; `stored` views the device's memory too.
struct PanelMatrix {
  PanelFormat format;
  uint64_t rows = 0, cols = 0;
  const std::byte* panels = nullptr;
  quant::StoredMatrix stored = {};  // kStored: instead of panels
  uint64_t panel_count() const { return (rows + kPanelRows - 1) / kPanelRows; }
  const std::byte* panel(uint64_t index) const { return panels + index * panel_bytes(format, cols); }
};

// Bytes of the whole matrix.
uint64_t matrix_bytes(const PanelMatrix& matrix);

// Rearranges rows [16*panel, 16*panel+16) of `stored` into `out` (panel_bytes). A pure bit shuffle. Not for kStored.
void pack_panel(const quant::StoredMatrix& stored, uint64_t panel, std::span<std::byte> out);

// Row `row` of a packed matrix as f32, equal to quant::decode_row of the stored one bit for bit. For embedding lookups:
// not of a matrix with an input order.
void decode_panel_row(const PanelMatrix& matrix, uint64_t row, std::span<float> out);

}  // namespace motley::kernels
