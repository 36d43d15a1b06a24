// Matrices that stay as their checkpoint holds them, because their format has no panel layout: quant decodes a tile of
// 16 rows at a time, to floats or to integers, and it is multiplied there. Slow beside panels, but every format runs
// from its packed bytes. Not a public header of the module.
#pragma once

#include "kernels/table.h"

namespace motley::kernels {

// Inputs of a tile: 16 KiB of f32, or 8 KiB of integers with 2 KiB of scales, are the only decoded weights there ever
// are.
inline constexpr uint32_t kStoredTileCols = 256;
inline constexpr uint32_t kStoredTileRuns = kStoredTileCols / quant::kIntegerRun;
inline constexpr uint32_t kRunPairs = quant::kIntegerRun / 2;

// 16 rows of up to 256 inputs as integers: pairs of inputs lie together, for 16-bit multiply-add.
struct IntegerTile {
  uint32_t runs = 0;
  bool biased = false;
  alignas(64) int16_t weights[kStoredTileRuns][kRunPairs][kPanelRows][2];
  alignas(64) float scales[kStoredTileRuns][kPanelRows];
  alignas(64) float biases[kStoredTileRuns][kPanelRows];
};

// Up to 256 inputs of one row as integers.
struct IntegerRow {
  uint32_t runs = 0;
  bool biased = false;
  alignas(64) int16_t weights[kStoredTileCols];
  float scales[kStoredTileRuns];
  float biases[kStoredTileRuns];
};

// What an instruction set does with decoded integers: several tokens share a tile, a single one meets rows.
struct StoredFunctions {
  // Adds a tile's products to y[token][16]; the tile's first input is `begin`.
  void (*add_tile)(const IntegerTile& tile, const QuantizedRows& x, uint64_t begin, float* y);
  // y plus the products of one row with the first token, whose input `begin` is the row's first.
  float (*add_row)(const IntegerRow& row, const QuantizedRows& x, uint64_t begin, float y);
};
extern const StoredFunctions kPortableStoredFunctions;

// The formulas of table.h for stored matrices; each float tile is multiplied by `matmul_exact` as a panel of f32.
void matmul_stored_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y,
                         decltype(KernelTable::matmul_exact) matmul_exact);
void matmul_stored_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y,
                        const StoredFunctions& functions);

}  // namespace motley::kernels
