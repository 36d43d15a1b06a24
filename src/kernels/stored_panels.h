// Panels of formats that have no layout of their own: the 16 rows' bytes as their checkpoint holds them, decoded by
// quant a tile at a time. Slow beside the others, but every format runs from its packed bytes. Not a public header of
// the module.
#pragma once

#include "kernels/table.h"

namespace motley::kernels {

// Inputs of a tile: 16 KiB of f32 on the stack, the only decoded weights there ever are.
inline constexpr uint32_t kStoredTileCols = 256;

// The rows of one panel as a matrix.
quant::StoredMatrix stored_rows(const PanelMatrix& w, uint64_t panel);

// The formula of table.h for stored panels, each tile multiplied by `matmul_exact` as a panel of f32.
void matmul_stored(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y,
                   decltype(KernelTable::matmul_exact) matmul_exact);

}  // namespace motley::kernels
