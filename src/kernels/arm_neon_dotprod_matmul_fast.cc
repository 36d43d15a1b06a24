// Integer matmul with NEON's dot product: four registers of 4 rows x 4 inputs a quad, codes unpacked in registers,
// times both int8 planes of the activations, in 32-bit sums.
#if defined(__aarch64__)
#include <algorithm>
#include <utility>

#include "kernels/arm_neon.h"
#include "kernels/int8_planes.h"
#include "kernels/stored_panels.h"

namespace motley::kernels::neon {
namespace {

// 2 tokens x 2 planes x 16 rows: 16 integer accumulators beside 4 of codes and 4 of activations in 32 registers.
constexpr uint32_t kTileTokens = 2;

struct Shape {
  PanelFormat format;
  IntegerBlock layout;
  uint64_t groups = 0;
  uint32_t parts_per_group = 0;  // a part shares one activation scale: one chunk
  int32_t offset = 0;            // what the integer sums still lack: minus offset * sum of the part's activations
  bool biased = false;
};

Shape shape_of(const PanelMatrix& w) {
  Shape shape;
  shape.format = w.format;
  if (w.format.kind != PanelKind::kInteger) return shape;
  shape.layout = integer_block(w.format);
  shape.groups = w.cols / w.format.group_size;
  shape.parts_per_group = w.format.group_size / kChunkCols;
  shape.biased = w.format.offset == PanelFormat::Offset::kBiases;
  // SDOT reads codes as signed, so 8-bit ones are centred.
  shape.offset = w.format.zero_point - (w.format.bits == 8 ? 128 : 0);
  return shape;
}

struct Tile {
  const Shape& shape;
  const std::byte* panel;
  uint64_t cols;
  const int8_t* planes;  // [tokens][kPlanes][cols]
  const float* scales;
  const int32_t* sums;
  const int32_t* half_sums;
  size_t parts;  // of a row: the stride of scales and sums
  float* y;      // [tokens][16]
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_NEON_FEATURES)
namespace {

template <int kTokens>
struct Sums {
  int32x4_t of[4][kTokens];  // [rows 4*i …][token]
};

template <int kTokens>
MOTLEY_INLINE void clear(Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int i = 0; i < 4; ++i) {
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) sums.of[i][t] = vdupq_n_s32(0);
  }
}

template <int kTokens>
using PlaneSums = Sums<kTokens* static_cast<int>(kPlanes)>;

// The planes' sums joined.
template <int kTokens>
MOTLEY_INLINE void join(const PlaneSums<kTokens>& planes, Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int i = 0; i < 4; ++i) {
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t)
      sums.of[i][t] = vaddq_s32(vshlq_n_s32(planes.of[i][2 * t], kPlaneShift), planes.of[i][2 * t + 1]);
  }
}

template <int kBits, int kLane, int kTokens>
MOTLEY_INLINE void add_quad(const std::byte* chunk, int first, const int8x16_t* x, Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int i = 0; i < 4; ++i) {
    uint8x16_t codes = quad_codes<kBits>(chunk + 16 * i, first + kLane);
    if constexpr (kBits == 8) codes = veorq_u8(codes, vdupq_n_u8(0x80));
    const int8x16_t w = vreinterpretq_s8_u8(codes);
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) sums.of[i][t] = vdotq_laneq_s32(sums.of[i][t], w, x[t], kLane);
  }
}

// Sixteen inputs: quads [first, first + 4) of a chunk, rows of activations at x.
template <int kBits, int kTokens>
MOTLEY_INLINE void dot16(const std::byte* chunk, int first, const int8_t* x, size_t stride, Sums<kTokens>& sums) {
  int8x16_t activations[kTokens];
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) activations[t] = vld1q_s8(x + static_cast<size_t>(t) * stride);
  add_quad<kBits, 0>(chunk, first, activations, sums);
  add_quad<kBits, 1>(chunk, first, activations, sums);
  add_quad<kBits, 2>(chunk, first, activations, sums);
  add_quad<kBits, 3>(chunk, first, activations, sums);
}

// y = fma(f32(i) * scale, xscale, y) for all rows of token t.
template <int kTokens>
MOTLEY_INLINE void add_scaled(const Sums<kTokens>& sums, int t, const float32x4_t* scale, float xscale, float* y) {
  MOTLEY_UNROLL
  for (int i = 0; i < 4; ++i) {
    const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(sums.of[i][t]), scale[i]);
    vst1q_f32(y + 4 * i, vfmaq_f32(vld1q_f32(y + 4 * i), scaled, vdupq_n_f32(xscale)));
  }
}

template <int kTokens>
MOTLEY_INLINE void finish_part(const Tile& tile, Sums<kTokens>& sums, size_t part, const float32x4_t* scale,
                               const float32x4_t* bias) {
  for (int t = 0; t < kTokens; ++t) {
    const size_t at = static_cast<size_t>(t) * tile.parts + part;
    float* y = tile.y + 16 * t;
    if (tile.shape.offset != 0)
      for (int i = 0; i < 4; ++i)
        sums.of[i][t] = vsubq_s32(sums.of[i][t], vdupq_n_s32(tile.shape.offset * tile.sums[at]));
    add_scaled(sums, t, scale, tile.scales[at], y);
    if (!tile.shape.biased) continue;
    const float32x4_t total = vdupq_n_f32(tile.scales[at] * static_cast<float>(tile.sums[at]));
    for (int i = 0; i < 4; ++i) vst1q_f32(y + 4 * i, vfmaq_f32(vld1q_f32(y + 4 * i), bias[i], total));
  }
}

template <int kBits, int kTokens>
void integer_tile(const Tile& tile) {
  const Shape& shape = tile.shape;
  std::memset(tile.y, 0, kTokens * kPanelRows * sizeof(float));
  size_t part = 0;
  const int8_t* x = tile.planes;
  const std::byte* block = tile.panel;
  for (uint64_t g = 0; g < shape.groups; ++g, block += shape.layout.bytes) {
    float32x4_t scale[4], bias[4];
    for (size_t i = 0; i < 4; ++i) {
      scale[i] = load_floats(shape.format.dtype, block + shape.layout.scales_at, i);
      bias[i] = shape.biased ? load_floats(shape.format.dtype, block + shape.layout.biases_at, i) : vdupq_n_f32(0);
    }
    const std::byte* chunk = block;
    for (uint32_t p = 0; p < shape.parts_per_group; ++p, ++part, chunk += chunk_bytes(kBits), x += kChunkCols) {
      PlaneSums<kTokens> planes;
      clear(planes);
      dot16<kBits>(chunk, 0, x, tile.cols, planes);
      dot16<kBits>(chunk, 4, x + 16, tile.cols, planes);
      Sums<kTokens> sums;
      join(planes, sums);
      finish_part(tile, sums, part, scale, bias);
    }
  }
}

// s * (sum - 32 * h) of one group of 16, added to `scaled`.
template <int kTokens>
MOTLEY_INLINE void super_group(const Tile& tile, const std::byte* chunk, int first, const std::byte* scales,
                               size_t group, Sums<kTokens>& scaled) {
  PlaneSums<kTokens> planes;
  clear(planes);
  dot16<6>(chunk, first, tile.planes + 16 * group, tile.cols, planes);
  Sums<kTokens> sums;
  join(planes, sums);
  const int8x16_t bytes = vreinterpretq_s8_u8(load_bytes(scales));
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  const int32x4_t scale[4] = {vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)),
                              vmovl_s16(vget_low_s16(high)), vmovl_s16(vget_high_s16(high))};
  for (int t = 0; t < kTokens; ++t) {
    const int32x4_t offset = vdupq_n_s32(32 * tile.half_sums[static_cast<size_t>(t) * 2 * tile.parts + group]);
    for (int i = 0; i < 4; ++i)
      scaled.of[i][t] = vmlaq_s32(scaled.of[i][t], vsubq_s32(sums.of[i][t], offset), scale[i]);
  }
}

template <int kTokens>
void super_tile(const Tile& tile) {
  std::memset(tile.y, 0, kTokens * kPanelRows * sizeof(float));
  const std::byte* block = tile.panel;
  for (size_t part = 0; part < tile.parts; block += kSuperBytes) {
    float32x4_t d[4];
    for (size_t i = 0; i < 4; ++i) d[i] = load_f16x4(block + kSuperScaleAt + 8 * i);
    const std::byte* scales = block + kSuperScalesAt;
    for (uint32_t c = 0; c < kSuperBlockCols / kChunkCols; ++c, ++part, scales += 2 * kPanelRows) {
      Sums<kTokens> sums;
      clear(sums);
      super_group(tile, block + c * chunk_bytes(6), 0, scales, 2 * part, sums);
      super_group(tile, block + c * chunk_bytes(6), 4, scales + kPanelRows, 2 * part + 1, sums);
      for (int t = 0; t < kTokens; ++t)
        add_scaled(sums, t, d, tile.scales[static_cast<size_t>(t) * tile.parts + part], tile.y + 16 * t);
    }
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

template <int kBits>
constexpr Functions kInteger = integer_functions<kBits>(TokenCounts());
constexpr Functions kSuper = super_functions(TokenCounts());

const Functions& functions_of(const PanelFormat& format) {
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

void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_fast(w, x, panels, y, kPortableStoredFunctions);
  const Shape shape = shape_of(w);
  const Functions& functions = functions_of(w.format);
  const size_t parts = w.cols / kChunkCols;
  const std::vector<int8_t> planes = int8_planes(x, w.cols);
  float sums[kTileTokens * kPanelRows];
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t first = 0; first < x.tokens; first += kTileTokens) {
      const uint32_t tokens = std::min(kTileTokens, x.tokens - first);
      functions.of[tokens - 1]({.shape = shape,
                                .panel = w.panel(panel),
                                .cols = w.cols,
                                .planes = planes.data() + first * kPlanes * w.cols,
                                .scales = x.scales + first * parts,
                                .sums = x.sums + first * parts,
                                .half_sums = x.half_sums == nullptr ? nullptr : x.half_sums + first * 2 * parts,
                                .parts = parts,
                                .y = sums});
      const uint64_t row = panel * kPanelRows, rows = std::min<uint64_t>(kPanelRows, w.rows - row);
      for (uint32_t t = 0; t < tokens; ++t)
        std::memcpy(y.data + (first + t) * y.stride + row, sums + kPanelRows * t, rows * sizeof(float));
    }
}

}  // namespace motley::kernels::neon
#endif
