#include "kernels/stored_panels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace motley::kernels {
namespace {

constexpr uint32_t kRun = quant::kIntegerRun;

// The 16 rows of one panel, fewer at the end of the matrix.
struct Rows {
  const quant::StoredMatrix& stored;
  uint64_t first = 0;
  uint32_t count = 0;
};

Rows rows_of(const PanelMatrix& w, uint64_t panel) {
  const uint64_t first = panel * kPanelRows;
  return {w.stored, first, static_cast<uint32_t>(std::min<uint64_t>(kPanelRows, w.rows - first))};
}

// Inputs [first, first + cols) of all rows, [cols][16].
void decode_floats(const Rows& rows, uint64_t first, uint32_t cols, float (*tile)[kPanelRows]) {
  float numbers[kStoredTileCols];
  for (uint32_t row = 0; row < rows.count; ++row) {
    quant::decode_row(rows.stored, rows.first + row, first, std::span(numbers).first(cols));
    for (uint32_t k = 0; k < cols; ++k) tile[k][row] = numbers[k];
  }
}

void decode_integers(const Rows& rows, uint64_t first, uint32_t cols, IntegerTile& tile) {
  tile.runs = cols / kRun;
  int16_t integers[kStoredTileCols];
  float scales[kStoredTileRuns], biases[kStoredTileRuns];
  for (uint32_t row = 0; row < rows.count; ++row) {
    quant::decode_integers(rows.stored, rows.first + row, first, std::span(integers).first(cols),
                           std::span(scales).first(tile.runs), std::span(biases).first(tile.runs));
    for (uint32_t k = 0; k < cols; ++k) tile.weights[k / kRun][k % kRun / 2][row][k % 2] = integers[k];
    for (uint32_t run = 0; run < tile.runs; ++run) {
      tile.scales[run][row] = scales[run];
      tile.biases[run][row] = biases[run];
    }
  }
}

// sums: [tokens][16].
void store(const std::vector<float>& sums, const Rows& rows, uint32_t tokens, const OutputRows& y) {
  for (uint32_t t = 0; t < tokens; ++t)
    std::copy_n(&sums[size_t{t} * kPanelRows], rows.count, y.data + t * y.stride + rows.first);
}

// Calls body(first, cols) for each tile of K inputs.
template <typename Body>
void for_tiles(uint64_t all_cols, const Body& body) {
  for (uint64_t first = 0; first < all_cols; first += kStoredTileCols)
    body(first, static_cast<uint32_t>(std::min<uint64_t>(kStoredTileCols, all_cols - first)));
}

void add_tile(const IntegerTile& tile, const QuantizedRows& x, uint64_t begin, float* y) {
  const uint64_t groups = x.groups;
  for (uint32_t t = 0; t < x.tokens; ++t)
    for (uint32_t run = 0; run < tile.runs; ++run) {
      const uint64_t col = begin + uint64_t{run} * kRun;
      const int16_t* codes = x.codes + t * x.stride + col;
      const float xscale = x.scales[t * groups + col / kChunkCols];
      const int32_t half_sum = x.half_sums[2 * t * groups + col / kRun];
      const float sum = xscale * static_cast<float>(half_sum);
      for (uint32_t row = 0; row < kPanelRows; ++row) {
        int32_t i = 0;
        for (uint32_t k = 0; k < kRun; ++k) i += tile.weights[run][k / 2][row][k % 2] * codes[k];
        float& out = y[size_t{t} * kPanelRows + row];
        out = std::fma(static_cast<float>(i) * tile.scales[run][row], xscale, out);
        if (tile.biased) out = std::fma(tile.biases[run][row], sum, out);
      }
    }
}

float add_row(const IntegerRow& row, const QuantizedRows& x, uint64_t begin, float y) {
  for (uint32_t run = 0; run < row.runs; ++run) {
    const uint64_t col = begin + uint64_t{run} * kRun;
    int32_t i = 0;
    for (uint32_t k = 0; k < kRun; ++k) i += row.weights[run * kRun + k] * x.codes[col + k];
    const float xscale = x.scales[col / kChunkCols];
    y = std::fma(static_cast<float>(i) * row.scales[run], xscale, y);
    const int32_t half_sum = x.half_sums[col / kRun];
    if (row.biased) y = std::fma(row.biases[run], xscale * static_cast<float>(half_sum), y);
  }
  return y;
}

void multiply_one_token(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y,
                        const StoredFunctions& functions) {
  IntegerRow row = {};
  row.biased = w.format.integers == quant::IntegerForm::kBiased;
  const uint64_t end = std::min(w.rows, panels.end * kPanelRows);
  for (uint64_t n = panels.begin * kPanelRows; n < end; ++n) {
    float sum = 0;
    for_tiles(w.cols, [&](uint64_t first, uint32_t cols) {
      row.runs = cols / kRun;
      quant::decode_integers(w.stored, n, first, std::span(row.weights).first(cols),
                             std::span(row.scales).first(row.runs), std::span(row.biases).first(row.runs));
      sum = functions.add_row(row, x, first, sum);
    });
    y.data[n] = sum;
  }
}

}  // namespace

const StoredFunctions kPortableStoredFunctions = {.add_tile = add_tile, .add_row = add_row};

void matmul_stored_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y,
                         decltype(KernelTable::matmul_exact) matmul_exact) {
  alignas(64) float tile[kStoredTileCols][kPanelRows] = {};
  std::vector<float> sums(size_t{x.tokens} * kPanelRows), products(sums.size());
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const Rows rows = rows_of(w, panel);
    for_tiles(w.cols, [&](uint64_t first, uint32_t cols) {
      decode_floats(rows, first, cols, tile);
      const PanelMatrix decoded{.format = {.kind = PanelKind::kFloat, .dtype = DType::kF32},
                                .rows = kPanelRows,
                                .cols = cols,
                                .panels = reinterpret_cast<const std::byte*>(tile)};
      matmul_exact(decoded, {.data = x.data + first, .stride = x.stride, .sums = nullptr, .tokens = x.tokens}, {0, 1},
                   {.data = products.data(), .stride = kPanelRows});
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += products[i];
    });
    store(sums, rows, x.tokens, y);
  }
}

void matmul_stored_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y,
                        const StoredFunctions& functions) {
  if (x.tokens == 1) return multiply_one_token(w, x, panels, y, functions);
  IntegerTile tile = {};
  tile.biased = w.format.integers == quant::IntegerForm::kBiased;
  std::vector<float> sums(size_t{x.tokens} * kPanelRows);
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const Rows rows = rows_of(w, panel);
    for_tiles(w.cols, [&](uint64_t first, uint32_t cols) {
      decode_integers(rows, first, cols, tile);
      functions.add_tile(tile, x, first, sums.data());
    });
    store(sums, rows, x.tokens, y);
  }
}

}  // namespace motley::kernels
