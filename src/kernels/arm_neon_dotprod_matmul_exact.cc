// f32 activations with NEON: four registers of 4 rows, one chain of fma a row.
#if defined(__aarch64__)
#include <algorithm>
#include <utility>

#include "kernels/arm_neon.h"
#include "kernels/stored_panels.h"

namespace motley::kernels::neon {
namespace {

// 4 tokens x 16 rows: 16 accumulators of a group and 4 of weights in 32 registers.
constexpr uint32_t kTileTokens = 4;

struct Tile {
  const PanelMatrix& w;
  const std::byte* panel;
  const float* x;
  size_t stride;
  const float* sums;  // [tokens][groups]
  float* y;           // [tokens][16]
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_NEON_FEATURES)
namespace {

template <int kTokens>
struct Lanes {
  float32x4_t of[4][kTokens];
};

template <int kTokens>
MOTLEY_INLINE void clear(Lanes<kTokens>& lanes) {
  for (int i = 0; i < 4; ++i)
    for (int t = 0; t < kTokens; ++t) lanes.of[i][t] = vdupq_n_f32(0);
}

template <int kTokens>
MOTLEY_INLINE void chain(const float32x4_t* w, const float* x, size_t stride, Lanes<kTokens>& lanes) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    const float32x4_t value = vld1q_dup_f32(x + static_cast<size_t>(t) * stride);
    MOTLEY_UNROLL
    for (int i = 0; i < 4; ++i) lanes.of[i][t] = vfmaq_f32(lanes.of[i][t], w[i], value);
  }
}

template <int kTokens>
void float_tile(const Tile& tile) {
  const DType dtype = tile.w.format.dtype;
  const size_t step = kPanelRows * (dtype == DType::kF32 ? 4 : 2);
  Lanes<kTokens> y;
  clear(y);
  for (uint64_t k = 0; k < tile.w.cols; ++k) {
    float32x4_t w[4];
    for (size_t i = 0; i < 4; ++i) w[i] = load_floats(dtype, tile.panel + k * step, i);
    chain(w, tile.x + k, tile.stride, y);
  }
  for (int t = 0; t < kTokens; ++t)
    for (int i = 0; i < 4; ++i) vst1q_f32(tile.y + 16 * t + 4 * i, y.of[i][t]);
}

// Quads [first, first + count) of a chunk; x is the chunk's first activation.
template <int kBits, int kTokens>
MOTLEY_INLINE void chain_quads(const std::byte* chunk, int first, int count, float zero_point, const float* x,
                               size_t stride, Lanes<kTokens>& lanes) {
  for (int q = first; q < first + count; ++q)
    for (int j = 0; j < 4; ++j) {
      float32x4_t w[4];
      for (int i = 0; i < 4; ++i) {
        const uint32x4_t codes = vreinterpretq_u32_u8(quad_codes<kBits>(chunk + 16 * i, q));
        const uint32x4_t code = vandq_u32(vshlq_u32(codes, vdupq_n_s32(-8 * j)), vdupq_n_u32(0xff));
        w[i] = vsubq_f32(vcvtq_f32_u32(code), vdupq_n_f32(zero_point));
      }
      chain(w, x + 4 * q + j, stride, lanes);
    }
}

// y = fma(sum, scale, y).
template <int kTokens>
MOTLEY_INLINE void add_scaled(const Lanes<kTokens>& sums, int t, const float32x4_t* scale, float* y) {
  for (int i = 0; i < 4; ++i) vst1q_f32(y + 4 * i, vfmaq_f32(vld1q_f32(y + 4 * i), sums.of[i][t], scale[i]));
}

template <int kBits, int kTokens>
void integer_tile(const Tile& tile) {
  const PanelFormat& format = tile.w.format;
  const IntegerBlock layout = integer_block(format);
  const bool biased = format.offset == PanelFormat::Offset::kBiases;
  const uint64_t groups = tile.w.cols / format.group_size;
  std::memset(tile.y, 0, kTokens * kPanelRows * sizeof(float));
  const float* x = tile.x;
  const std::byte* block = tile.panel;
  for (uint64_t g = 0; g < groups; ++g, block += layout.bytes) {
    Lanes<kTokens> sums;
    clear(sums);
    const std::byte* chunk = block;
    for (uint32_t c = 0; c < format.group_size; c += kChunkCols, chunk += chunk_bytes(kBits), x += kChunkCols)
      chain_quads<kBits>(chunk, 0, 8, format.zero_point, x, tile.stride, sums);
    float32x4_t scale[4];
    for (size_t i = 0; i < 4; ++i) scale[i] = load_floats(format.dtype, block + layout.scales_at, i);
    for (int t = 0; t < kTokens; ++t) {
      float* y = tile.y + 16 * t;
      add_scaled(sums, t, scale, y);
      if (!biased) continue;
      const float32x4_t total = vdupq_n_f32(tile.sums[static_cast<size_t>(t) * groups + g]);
      for (size_t i = 0; i < 4; ++i)
        vst1q_f32(y + 4 * i,
                  vfmaq_f32(vld1q_f32(y + 4 * i), load_floats(format.dtype, block + layout.biases_at, i), total));
    }
  }
}

template <int kTokens>
void super_tile(const Tile& tile) {
  std::memset(tile.y, 0, kTokens * kPanelRows * sizeof(float));
  const std::byte* block = tile.panel;
  for (uint64_t begin = 0; begin < tile.w.cols; begin += kSuperBlockCols, block += kSuperBytes)
    for (uint32_t g = 0; g < kSuperGroups; ++g) {
      Lanes<kTokens> sums;
      clear(sums);
      chain_quads<6>(block + g / 2 * chunk_bytes(6), static_cast<int>(g % 2 * 4), 4, 32,
                     tile.x + begin + g / 2 * kChunkCols, tile.stride, sums);
      float32x4_t scale[4];
      for (size_t i = 0; i < 4; ++i) {
        int8_t bytes[4];
        std::memcpy(bytes, block + kSuperScalesAt + g * kPanelRows + 4 * i, 4);
        const int32x4_t integers = {bytes[0], bytes[1], bytes[2], bytes[3]};
        scale[i] = vmulq_f32(load_f16x4(block + kSuperScaleAt + 8 * i), vcvtq_f32_s32(integers));
      }
      for (int t = 0; t < kTokens; ++t) add_scaled(sums, t, scale, tile.y + 16 * t);
    }
}

}  // namespace
MOTLEY_TARGET_END

namespace {

using TileFunction = void (*)(const Tile&);
struct Functions {
  TileFunction of[kTileTokens];
};
using TokenCounts = std::make_integer_sequence<int, kTileTokens>;

template <int kBits, int... kLess>
constexpr Functions integer_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{integer_tile<kBits, kLess + 1>...}};
}
template <int... kLess>
constexpr Functions super_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{super_tile<kLess + 1>...}};
}
template <int... kLess>
constexpr Functions float_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{float_tile<kLess + 1>...}};
}

template <int kBits>
constexpr Functions kInteger = integer_functions<kBits>(TokenCounts());
constexpr Functions kSuper = super_functions(TokenCounts());
constexpr Functions kFloat = float_functions(TokenCounts());

const Functions& functions_of(const PanelFormat& format) {
  if (format.kind == PanelKind::kFloat) return kFloat;
  if (format.kind == PanelKind::kQ6_K) return kSuper;
  switch (format.bits) {
    case 2:
      return kInteger<2>;
    case 3:
      return kInteger<3>;
    case 4:
      return kInteger<4>;
    case 5:
      return kInteger<5>;
    case 6:
      return kInteger<6>;
    default:
      return kInteger<8>;
  }
}

}  // namespace

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_exact(w, x, panels, y, matmul_exact);
  const Functions& functions = functions_of(w.format);
  const uint64_t groups = w.format.group_size == 0 ? 0 : w.cols / w.format.group_size;
  float sums[kTileTokens * kPanelRows];
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t first = 0; first < x.tokens; first += kTileTokens) {
      const uint32_t tokens = std::min(kTileTokens, x.tokens - first);
      functions.of[tokens - 1]({.w = w,
                                .panel = w.panel(panel),
                                .x = x.data + first * x.stride,
                                .stride = x.stride,
                                .sums = x.sums == nullptr ? nullptr : x.sums + first * groups,
                                .y = sums});
      const uint64_t row = panel * kPanelRows, rows = std::min<uint64_t>(kPanelRows, w.rows - row);
      for (uint32_t t = 0; t < tokens; ++t)
        std::memcpy(y.data + (first + t) * y.stride + row, sums + kPanelRows * t, rows * sizeof(float));
    }
}

}  // namespace motley::kernels::neon
#endif
