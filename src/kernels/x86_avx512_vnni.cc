// The AVX-512 VNNI row: both matmuls, with 16 rows in one register; the rest comes from AVX2. vpdpbusd adds four
// products in 32 bits, so codes of every width are read once, in registers, for both int8 planes of several tokens.
//
// Tests compile this file a second time with MOTLEY_AVX512_SIMDE, onto portable stand-ins for the intrinsics, because
// machines without AVX-512 must check it too. It uses only what kernels/simde_shim.h names.
#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/int8_planes.h"
#include "kernels/panel_layout.h"
#include "kernels/stored_panels.h"
#include "kernels/tables.h"
#include "kernels/target_region.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false in gcc 12's own intrinsics (gcc bug 105593)
#endif
#if defined(MOTLEY_AVX512_SIMDE)
#include "kernels/simde_shim.h"
// Unrolled, too, the stand-ins take a compiler minutes.
#undef MOTLEY_INLINE
#undef MOTLEY_UNROLL
#define MOTLEY_INLINE inline
#define MOTLEY_UNROLL
#define MOTLEY_AVX512_BEGIN
#define MOTLEY_AVX512_END
#define MOTLEY_AVX512_TABLE avx512_vnni_simde_table
#else
#include <immintrin.h>
#define MOTLEY_AVX512_BEGIN MOTLEY_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")
#define MOTLEY_AVX512_END MOTLEY_TARGET_END
#define MOTLEY_AVX512_TABLE avx512_vnni_table
#endif

namespace motley::kernels {
namespace {

#if defined(MOTLEY_AVX512_SIMDE)
constexpr uint32_t kTileTokens = 2;  // every further count is the same template, and takes a compiler minutes
#else
// 8 tokens: 16 integer and 8 float accumulators in 32 registers, and 12 spill (docs/experiments.md).
constexpr uint32_t kTileTokens = 8;
#endif

struct Shape {
  PanelFormat format;
  IntegerBlock layout;
  uint64_t groups = 0;
  uint32_t parts_per_group = 0;  // a part shares one activation scale: one chunk
};

Shape shape_of(const PanelMatrix& w) {
  Shape shape;
  shape.format = w.format;
  if (w.format.kind != PanelKind::kInteger) return shape;
  shape.layout = integer_block(w.format);
  shape.groups = w.cols / w.format.group_size;
  shape.parts_per_group = w.format.group_size / kChunkCols;
  return shape;
}

// One panel and the tokens of one tile: pointers to the first token's row, strides to the next.
struct FastTile {
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

struct ExactTile {
  const Shape& shape;
  const std::byte* panel;
  uint64_t cols;
  const float* x;
  size_t stride;
  const float* sums;  // stride: shape.groups
  float* y;
};

}  // namespace

MOTLEY_AVX512_BEGIN
namespace {

MOTLEY_INLINE __m512 load_f16x16(const std::byte* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}
MOTLEY_INLINE __m512 load_bf16x16(const std::byte* at) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
MOTLEY_INLINE __m512 load_floats(DType dtype, const std::byte* at) {
  if (dtype == DType::kF16) return load_f16x16(at);
  if (dtype == DType::kBF16) return load_bf16x16(at);
  return _mm512_loadu_ps(reinterpret_cast<const float*>(at));
}

MOTLEY_INLINE __m512i broadcast4(const int8_t* at) {
  int32_t four;
  std::memcpy(&four, at, 4);
  return _mm512_set1_epi32(four);
}

template <int kWidth, int kShift>
MOTLEY_INLINE __m512i plane_bits(const std::byte* at, int quad) {
  constexpr int kPerByte = 8 / kWidth;
  const __m512i bytes = _mm512_loadu_si512(at + quad / kPerByte * static_cast<int>(kVectorBytes));
  if constexpr (kWidth == 8) return bytes;
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(((1 << kWidth) - 1) << kShift));
  const int down = kWidth * (quad % kPerByte) - kShift;  // what crosses a byte's border is masked off
  const __m512i moved = down >= 0 ? _mm512_srli_epi16(bytes, static_cast<unsigned>(down))
                                  : _mm512_slli_epi16(bytes, static_cast<unsigned>(-down));
  return _mm512_and_si512(moved, mask);
}

// Unsigned codes of one quad: byte 4*row + j is input 4*quad + j.
template <int kBits>
MOTLEY_INLINE __m512i quad_codes(const std::byte* chunk, int quad) {
  constexpr PlaneWidths kWidths = plane_widths(kBits);
  constexpr int kHigh = kWidths.high != 0 ? kWidths.high : 1;
  const __m512i low = plane_bits<kWidths.low, 0>(chunk, quad);
  if constexpr (kWidths.high == 0) return low;
  const __m512i high = plane_bits<kHigh, kWidths.low>(chunk + kWidths.low * kVectorBytes, quad);
  return _mm512_or_si512(low, high);
}

template <int kTokens>
struct Sums {
  __m512i of[kTokens];
};
template <int kTokens>
struct Lanes {
  __m512 of[kTokens];
};

template <int kTokens>
MOTLEY_INLINE void clear(Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) sums.of[t] = _mm512_setzero_si512();
}
template <int kTokens>
MOTLEY_INLINE void clear(Lanes<kTokens>& lanes) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) lanes.of[t] = _mm512_setzero_ps();
}
template <int kTokens>
MOTLEY_INLINE void store(const Lanes<kTokens>& lanes, float* y) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(y + 16 * t, lanes.of[t]);
}

// --- fast
// -------------------------------------------------------------------------------------------------------------------

// The sums of codes * activations over quads [first, first + count) of a chunk; x is the chunk's first activation in
// the first token's high plane.
template <int kBits, int kCount, int kTokens>
MOTLEY_INLINE void dot(const std::byte* chunk, int first, const int8_t* x, size_t cols, Sums<kTokens>& sums) {
  constexpr int kRows = kTokens * static_cast<int>(kPlanes);
  Sums<kRows> planes;
  clear(planes);
  MOTLEY_UNROLL
  for (int q = first; q < first + kCount; ++q) {
    const __m512i w = quad_codes<kBits>(chunk, q);
    MOTLEY_UNROLL
    for (int row = 0; row < kRows; ++row)
      planes.of[row] = _mm512_dpbusd_epi32(
          planes.of[row], w, broadcast4(x + static_cast<size_t>(row) * cols + 4 * static_cast<size_t>(q)));
  }
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t)
    sums.of[t] = _mm512_add_epi32(_mm512_slli_epi32(planes.of[2 * t], kPlaneShift), planes.of[2 * t + 1]);
}

// y = fma(f32(i) * scale, xscale, y).
MOTLEY_INLINE __m512 add_scaled(__m512i sum, __m512 scale, float xscale, __m512 y) {
  return _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale), _mm512_set1_ps(xscale), y);
}

template <int kBits, int kTokens>
void integer_tile(const FastTile& tile) {
  const Shape& shape = tile.shape;
  const bool biased = shape.format.offset == PanelFormat::Offset::kBiases;
  Lanes<kTokens> y;
  clear(y);
  size_t part = 0;
  const int8_t* x = tile.planes;
  const std::byte* block = tile.panel;
  for (uint64_t g = 0; g < shape.groups; ++g, block += shape.layout.bytes) {
    const __m512 scale = load_floats(shape.format.dtype, block + shape.layout.scales_at);
    const __m512 bias = biased ? load_floats(shape.format.dtype, block + shape.layout.biases_at) : _mm512_setzero_ps();
    const std::byte* chunk = block;
    for (uint32_t i = 0; i < shape.parts_per_group; ++i, ++part, chunk += chunk_bytes(kBits), x += kChunkCols) {
      Sums<kTokens> sums;
      dot<kBits, 8>(chunk, 0, x, tile.cols, sums);
      MOTLEY_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        const size_t at = static_cast<size_t>(t) * tile.parts + part;
        const float xscale = tile.scales[at];
        const int32_t total = tile.sums[at];
        if (!biased) sums.of[t] = _mm512_sub_epi32(sums.of[t], _mm512_set1_epi32(shape.format.zero_point * total));
        y.of[t] = add_scaled(sums.of[t], scale, xscale, y.of[t]);
        if (biased) y.of[t] = _mm512_fmadd_ps(bias, _mm512_set1_ps(xscale * static_cast<float>(total)), y.of[t]);
      }
    }
  }
  store(y, tile.y);
}

// s * (sum - 32 * h) of one group of 16, added to `scaled`.
template <int kFirst, int kTokens>
MOTLEY_INLINE void super_group(const FastTile& tile, const std::byte* chunk, const std::byte* scales, const int8_t* x,
                               size_t half, Sums<kTokens>& scaled) {
  const __m512i scale = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales)));
  Sums<kTokens> sums;
  dot<6, 4>(chunk, kFirst, x, tile.cols, sums);
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    const int32_t offset = 32 * tile.half_sums[static_cast<size_t>(t) * 2 * tile.parts + half];
    const __m512i centred = _mm512_sub_epi32(sums.of[t], _mm512_set1_epi32(offset));
    scaled.of[t] = _mm512_add_epi32(scaled.of[t], _mm512_mullo_epi32(centred, scale));
  }
}

template <int kTokens>
void super_tile(const FastTile& tile) {
  Lanes<kTokens> y;
  clear(y);
  const std::byte* block = tile.panel;
  for (size_t part = 0; part < tile.parts; block += kSuperBytes) {
    const __m512 d = load_f16x16(block + kSuperScaleAt);
    const std::byte* scales = block + kSuperScalesAt;
    for (uint32_t c = 0; c < kSuperBlockCols / kChunkCols; ++c, ++part, scales += 2 * kPanelRows) {
      const std::byte* chunk = block + c * chunk_bytes(6);
      Sums<kTokens> sums;
      clear(sums);
      super_group<0>(tile, chunk, scales, tile.planes + 32 * part, 2 * part, sums);
      super_group<4>(tile, chunk, scales + kPanelRows, tile.planes + 32 * part, 2 * part + 1, sums);
      MOTLEY_UNROLL
      for (int t = 0; t < kTokens; ++t)
        y.of[t] = add_scaled(sums.of[t], d, tile.scales[static_cast<size_t>(t) * tile.parts + part], y.of[t]);
    }
  }
  store(y, tile.y);
}

// --- exact
// ------------------------------------------------------------------------------------------------------------------

template <int kTokens>
MOTLEY_INLINE void chain(__m512 w, const float* x, size_t stride, Lanes<kTokens>& lanes) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t)
    lanes.of[t] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[static_cast<size_t>(t) * stride]), lanes.of[t]);
}

template <int kTokens>
void exact_float_tile(const ExactTile& tile) {
  const DType dtype = tile.shape.format.dtype;
  const size_t step = kPanelRows * (dtype == DType::kF32 ? 4 : 2);
  Lanes<kTokens> y;
  clear(y);
  for (uint64_t k = 0; k < tile.cols; ++k) chain(load_floats(dtype, tile.panel + k * step), tile.x + k, tile.stride, y);
  store(y, tile.y);
}

// Quads [first, first + kCount) of a chunk; x is the chunk's first activation.
template <int kBits, int kCount, int kTokens>
MOTLEY_INLINE void exact_chain(const std::byte* chunk, int first, __m512 zero_point, const float* x, size_t stride,
                               Lanes<kTokens>& lanes) {
  const __m512i low_byte = _mm512_set1_epi32(0xff);
  for (int q = first; q < first + kCount; ++q) {
    const __m512i codes = quad_codes<kBits>(chunk, q);
    MOTLEY_UNROLL
    for (int j = 0; j < 4; ++j) {
      const __m512i code = _mm512_and_si512(_mm512_srli_epi32(codes, static_cast<unsigned>(8 * j)), low_byte);
      chain(_mm512_sub_ps(_mm512_cvtepi32_ps(code), zero_point), x + 4 * q + j, stride, lanes);
    }
  }
}

template <int kBits, int kTokens>
void exact_integer_tile(const ExactTile& tile) {
  const Shape& shape = tile.shape;
  const bool biased = shape.format.offset == PanelFormat::Offset::kBiases;
  const __m512 zero_point = _mm512_set1_ps(shape.format.zero_point);
  Lanes<kTokens> y;
  clear(y);
  const float* x = tile.x;
  const std::byte* block = tile.panel;
  for (uint64_t g = 0; g < shape.groups; ++g, block += shape.layout.bytes) {
    Lanes<kTokens> sums;
    clear(sums);
    const std::byte* chunk = block;
    for (uint32_t c = 0; c < shape.format.group_size; c += kChunkCols, chunk += chunk_bytes(kBits), x += kChunkCols)
      exact_chain<kBits, 8>(chunk, 0, zero_point, x, tile.stride, sums);
    const __m512 scale = load_floats(shape.format.dtype, block + shape.layout.scales_at);
    const __m512 bias = biased ? load_floats(shape.format.dtype, block + shape.layout.biases_at) : _mm512_setzero_ps();
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      y.of[t] = _mm512_fmadd_ps(sums.of[t], scale, y.of[t]);
      if (biased)
        y.of[t] = _mm512_fmadd_ps(bias, _mm512_set1_ps(tile.sums[static_cast<size_t>(t) * shape.groups + g]), y.of[t]);
    }
  }
  store(y, tile.y);
}

template <int kTokens>
void exact_super_tile(const ExactTile& tile) {
  const __m512 zero_point = _mm512_set1_ps(32);
  Lanes<kTokens> y;
  clear(y);
  const std::byte* block = tile.panel;
  for (uint64_t begin = 0; begin < tile.cols; begin += kSuperBlockCols, block += kSuperBytes) {
    const __m512 d = load_f16x16(block + kSuperScaleAt);
    for (uint32_t g = 0; g < kSuperGroups; ++g) {
      Lanes<kTokens> sums;
      clear(sums);
      const std::byte* chunk = block + g / 2 * chunk_bytes(6);
      exact_chain<6, 4>(chunk, static_cast<int>(g % 2 * 4), zero_point, tile.x + begin + g / 2 * kChunkCols,
                        tile.stride, sums);
      const auto* at = reinterpret_cast<const __m128i*>(block + kSuperScalesAt + g * kPanelRows);
      const __m512 scale = _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(at))));
      MOTLEY_UNROLL
      for (int t = 0; t < kTokens; ++t) y.of[t] = _mm512_fmadd_ps(sums.of[t], scale, y.of[t]);
    }
  }
  store(y, tile.y);
}

}  // namespace
MOTLEY_AVX512_END

namespace {

// --- choosing the code for a width and a number of tokens
// ---------------------------------------------------------------------

using FastFunction = void (*)(const FastTile&);
using ExactFunction = void (*)(const ExactTile&);
struct Functions {
  FastFunction fast[kTileTokens];
  ExactFunction exact[kTileTokens];
};

using TokenCounts = std::make_integer_sequence<int, kTileTokens>;

template <int kBits, int... kLess>
constexpr Functions integer_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{integer_tile<kBits, kLess + 1>...}, {exact_integer_tile<kBits, kLess + 1>...}};
}
template <int... kLess>
constexpr Functions super_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{super_tile<kLess + 1>...}, {exact_super_tile<kLess + 1>...}};
}
template <int... kLess>
constexpr Functions float_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{}, {exact_float_tile<kLess + 1>...}};
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

// Where a tile's [tokens][16] sums go.
void scatter(const float* sums, const PanelMatrix& w, uint64_t panel, uint32_t first, uint32_t tokens,
             const OutputRows& y) {
  const uint64_t row = panel * kPanelRows, rows = std::min<uint64_t>(kPanelRows, w.rows - row);
  for (uint32_t t = 0; t < tokens; ++t)
    std::memcpy(y.data + (first + t) * y.stride + row, sums + kPanelRows * t, rows * sizeof(float));
}

void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_fast(w, x, panels, y, kPortableStoredFunctions);
  const Shape shape = shape_of(w);
  const Functions& functions = functions_of(w.format);
  const size_t parts = w.cols / kChunkCols;
  const std::vector<int8_t> planes = int8_planes(x, w.cols);
  alignas(64) float sums[kTileTokens * kPanelRows];
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t t = 0; t < x.tokens; t += kTileTokens) {
      const uint32_t tokens = std::min(kTileTokens, x.tokens - t);
      functions.fast[tokens - 1]({.shape = shape,
                                  .panel = w.panel(panel),
                                  .cols = w.cols,
                                  .planes = planes.data() + t * kPlanes * w.cols,
                                  .scales = x.scales + t * parts,
                                  .sums = x.sums + t * parts,
                                  .half_sums = x.half_sums == nullptr ? nullptr : x.half_sums + t * 2 * parts,
                                  .parts = parts,
                                  .y = sums});
      scatter(sums, w, panel, t, tokens, y);
    }
}

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_exact(w, x, panels, y, matmul_exact);
  const Shape shape = shape_of(w);
  const Functions& functions = functions_of(w.format);
  alignas(64) float sums[kTileTokens * kPanelRows];
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t t = 0; t < x.tokens; t += kTileTokens) {
      const uint32_t tokens = std::min(kTileTokens, x.tokens - t);
      functions.exact[tokens - 1]({.shape = shape,
                                   .panel = w.panel(panel),
                                   .cols = w.cols,
                                   .x = x.data + t * x.stride,
                                   .stride = x.stride,
                                   .sums = x.sums == nullptr ? nullptr : x.sums + t * shape.groups,
                                   .y = sums});
      scatter(sums, w, panel, t, tokens, y);
    }
}

#if defined(MOTLEY_AVX512_SIMDE)
bool supported() { return true; }
#else
// __builtin_cpu_supports looks at what the operating system saves, too. The slots that AVX2 fills need what it needs.
bool supported() {
  return avx2_table().supported() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}
#endif

}  // namespace

KernelTable MOTLEY_AVX512_TABLE();
KernelTable MOTLEY_AVX512_TABLE() {
  KernelTable table;
  table.name = "avx512_vnni";
  table.supported = supported;
  table.matmul_exact = matmul_exact;
  table.matmul_fast = matmul_fast;
  return table;
}

}  // namespace motley::kernels
#endif
