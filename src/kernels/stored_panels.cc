#include "kernels/stored_panels.h"

#include <algorithm>
#include <vector>

namespace motley::kernels {
namespace {

// Inputs [first, first + cols) of all rows, [cols][16].
void decode_tile(const quant::StoredMatrix& rows, uint64_t first, uint32_t cols, float (*tile)[kPanelRows]) {
  float numbers[kStoredTileCols];
  for (uint32_t row = 0; row < kPanelRows; ++row) {
    quant::decode_row(rows, row, first, std::span(numbers).first(cols));
    for (uint32_t k = 0; k < cols; ++k) tile[k][row] = numbers[k];
  }
}

}  // namespace

quant::StoredMatrix stored_rows(const PanelMatrix& w, uint64_t panel) {
  const quant::RowBytes row = quant::row_bytes(w.format.stored, w.cols, "panel").value();
  const std::byte* codes = w.panel(panel);
  const std::byte* scales = codes + kPanelRows * row.codes;
  return {.format = w.format.stored,
          .rows = kPanelRows,
          .cols = w.cols,
          .codes = {codes, kPanelRows * row.codes},
          .scales = {scales, kPanelRows * row.scales},
          .biases = {scales + kPanelRows * row.scales, kPanelRows * row.biases}};
}

void matmul_stored(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y,
                   decltype(KernelTable::matmul_exact) matmul_exact) {
  alignas(64) float tile[kStoredTileCols][kPanelRows];
  std::vector<float> sums(size_t{x.tokens} * kPanelRows), products(sums.size());
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const quant::StoredMatrix rows = stored_rows(w, panel);
    for (uint64_t first = 0; first < w.cols; first += kStoredTileCols) {
      const auto cols = static_cast<uint32_t>(std::min<uint64_t>(kStoredTileCols, w.cols - first));
      decode_tile(rows, first, cols, tile);
      const PanelMatrix decoded{.format = {.kind = PanelKind::kFloat, .dtype = DType::kF32},
                                .rows = kPanelRows,
                                .cols = cols,
                                .panels = reinterpret_cast<const std::byte*>(tile)};
      matmul_exact(decoded, {.data = x.data + first, .stride = x.stride, .sums = nullptr, .tokens = x.tokens}, {0, 1},
                   {.data = products.data(), .stride = kPanelRows});
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += products[i];
    }
    const uint64_t row = panel * kPanelRows, count = std::min<uint64_t>(kPanelRows, w.rows - row);
    for (uint32_t t = 0; t < x.tokens; ++t)
      std::copy_n(&sums[size_t{t} * kPanelRows], count, y.data + t * y.stride + row);
  }
}

}  // namespace motley::kernels
