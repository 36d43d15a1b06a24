#include <algorithm>
#include <cmath>

#include "kernels/panel_layout.h"
#include "kernels/scalar.h"
#include "kernels/stored_panels.h"

namespace motley::kernels::scalar {
namespace {

// The 16 outputs of one panel for one token.
using Lanes = float[kPanelRows];

int code_at(const std::byte* block, uint32_t bits, uint32_t col, uint32_t row) {
  const std::byte* chunk = block + col / kChunkCols * chunk_bytes(bits);
  return static_cast<int>(chunk_code(chunk, bits, col % kChunkCols, row));
}

void exact_float(const PanelMatrix& w, const std::byte* panel, const float* x, Lanes& y) {
  for (uint64_t k = 0; k < w.cols; ++k)
    for (uint32_t row = 0; row < kPanelRows; ++row)
      y[row] = std::fma(tensor::load_float(w.format.dtype, panel, k * kPanelRows + row), x[k], y[row]);
}

void exact_integer(const PanelMatrix& w, const std::byte* panel, const float* x, const float* sums, Lanes& y) {
  const PanelFormat& format = w.format;
  const IntegerBlock layout = integer_block(format);
  const bool biased = format.offset == PanelFormat::Offset::kBiases;
  for (uint64_t g = 0; g < w.cols / format.group_size; ++g, panel += layout.bytes, x += format.group_size)
    for (uint32_t row = 0; row < kPanelRows; ++row) {
      float t = 0;
      for (uint32_t k = 0; k < format.group_size; ++k)
        t = std::fma(static_cast<float>(code_at(panel, format.bits, k, row) - format.zero_point), x[k], t);
      y[row] = std::fma(t, tensor::load_float(format.dtype, panel + layout.scales_at, row), y[row]);
      if (biased) y[row] = std::fma(tensor::load_float(format.dtype, panel + layout.biases_at, row), sums[g], y[row]);
    }
}

float super_scale(const std::byte* block, uint32_t row) {
  return tensor::load_float(DType::kF16, block + kSuperScaleAt, row);
}
int group_scale(const std::byte* block, uint32_t group, uint32_t row) {
  return static_cast<int8_t>(block[kSuperScalesAt + group * kPanelRows + row]);
}

void exact_super(const PanelMatrix& w, const std::byte* panel, const float* x, Lanes& y) {
  for (uint64_t b = 0; b < w.cols / kSuperBlockCols; ++b, panel += kSuperBytes, x += kSuperBlockCols)
    for (uint32_t row = 0; row < kPanelRows; ++row)
      for (uint32_t g = 0; g < kSuperGroups; ++g) {
        float t = 0;
        for (uint32_t k = 16 * g; k < 16 * g + 16; ++k)
          t = std::fma(static_cast<float>(code_at(panel, 6, k, row) - 32), x[k], t);
        y[row] = std::fma(t, super_scale(panel, row) * static_cast<float>(group_scale(panel, g, row)), y[row]);
      }
}

int dot(const std::byte* block, uint32_t bits, uint32_t begin, uint32_t end, uint32_t row, const int16_t* x) {
  int sum = 0;
  for (uint32_t k = begin; k < end; ++k) sum += code_at(block, bits, k, row) * x[k];
  return sum;
}

// The quantised activations of one token.
struct Token {
  const int16_t* codes = nullptr;
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  const int32_t* half_sums = nullptr;
};

void fast_integer(const PanelMatrix& w, const std::byte* panel, Token x, Lanes& y) {
  const PanelFormat& format = w.format;
  const IntegerBlock layout = integer_block(format);
  const bool biased = format.offset == PanelFormat::Offset::kBiases;
  const uint32_t part = format.activation_group();
  for (uint64_t g = 0; g < w.cols / format.group_size; ++g, panel += layout.bytes, x.codes += format.group_size)
    for (uint32_t begin = 0; begin < format.group_size; begin += part, ++x.scales, ++x.sums)
      for (uint32_t row = 0; row < kPanelRows; ++row) {
        int i = dot(panel, format.bits, begin, begin + part, row, x.codes);
        if (!biased) i -= format.zero_point * *x.sums;
        const float scale = tensor::load_float(format.dtype, panel + layout.scales_at, row);
        y[row] = std::fma(static_cast<float>(i) * scale, *x.scales, y[row]);
        if (!biased) continue;
        const float bias = tensor::load_float(format.dtype, panel + layout.biases_at, row);
        y[row] = std::fma(bias, *x.scales * static_cast<float>(*x.sums), y[row]);
      }
}

void fast_super(const PanelMatrix& w, const std::byte* panel, Token x, Lanes& y) {
  for (uint64_t b = 0; b < w.cols / kSuperBlockCols; ++b, panel += kSuperBytes, x.codes += kSuperBlockCols)
    for (uint32_t begin = 0; begin < kSuperBlockCols; begin += 32, ++x.scales, x.half_sums += 2)
      for (uint32_t row = 0; row < kPanelRows; ++row) {
        int i = 0;
        for (uint32_t half = 0; half < 2; ++half) {
          const uint32_t first = begin + 16 * half;
          i += group_scale(panel, first / 16, row) *
               (dot(panel, 6, first, first + 16, row, x.codes) - 32 * x.half_sums[half]);
        }
        y[row] = std::fma(static_cast<float>(i) * super_scale(panel, row), *x.scales, y[row]);
      }
}

void store(const Lanes& lanes, const PanelMatrix& w, uint64_t panel, uint32_t token, const OutputRows& y) {
  const uint64_t first = panel * kPanelRows;
  std::copy_n(lanes, std::min<uint64_t>(kPanelRows, w.rows - first), y.data + token * y.stride + first);
}

}  // namespace

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_exact(w, x, panels, y, matmul_exact);
  const uint64_t groups = w.format.group_size == 0 ? 0 : w.cols / w.format.group_size;
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t token = 0; token < x.tokens; ++token) {
      Lanes lanes = {};
      const float* row = x.data + token * x.stride;
      const float* sums = x.sums == nullptr ? nullptr : x.sums + token * groups;
      switch (w.format.kind) {
        case PanelKind::kFloat:
          exact_float(w, w.panel(panel), row, lanes);
          break;
        case PanelKind::kInteger:
          exact_integer(w, w.panel(panel), row, sums, lanes);
          break;
        case PanelKind::kQ6_K:
          exact_super(w, w.panel(panel), row, lanes);
          break;
        case PanelKind::kStored:
          break;  // above
      }
      store(lanes, w, panel, token, y);
    }
}

void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_fast(w, x, panels, y, kPortableStoredFunctions);
  const uint64_t groups = w.cols / x.group;
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t token = 0; token < x.tokens; ++token) {
      Lanes lanes = {};
      Token row{x.codes + token * x.stride, x.scales + token * groups, x.sums + token * groups, nullptr};
      if (x.half_sums != nullptr) row.half_sums = x.half_sums + token * groups * 2;
      if (w.format.kind == PanelKind::kQ6_K)
        fast_super(w, w.panel(panel), row, lanes);
      else
        fast_integer(w, w.panel(panel), row, lanes);
      store(lanes, w, panel, token, y);
    }
}

}  // namespace motley::kernels::scalar
