// f32 activations with AVX2: lanes are rows, one chain of fma a row. Integer codes are widened to f32 a group at a
// time, once for all tokens of a block.
#if defined(__x86_64__)
#include <algorithm>
#include <utility>

#include "kernels/stored_panels.h"
#include "kernels/x86_avx2_codes.h"

namespace motley::kernels::avx2 {
namespace {

// 6 tokens x 16 rows: 12 accumulators, two weights and one activation in 16 registers.
constexpr uint32_t kTileTokens = 6;
// Tokens whose sums (6 KiB) stay in L1 beside a widened group of 128 inputs (8 KiB).
constexpr uint32_t kBlockTokens = 96;
constexpr uint32_t kMaxGroup = 128;

struct Job {
  const PanelMatrix& w;
  const FloatRows& x;
  uint32_t first, count;
  float* y;  // [count][16]
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

template <DType kDType>
MOTLEY_INLINE __m256 load_half(const std::byte* weights, uint64_t k, int half) {
  if constexpr (kDType == DType::kF32) return load_f32x8(weights + k * 64 + 32 * half);
  if constexpr (kDType == DType::kF16) return load_f16x8(weights + k * 32 + 16 * half);
  return load_bf16x8(weights + k * 32 + 16 * half);
}

template <int kTokens>
struct Lanes {
  __m256 of[2][kTokens];
};

// Continues the chains over inputs [0, cols): weights [cols][16], activations at x + t * stride.
template <DType kDType, int kTokens>
MOTLEY_INLINE void chain(const std::byte* weights, uint64_t cols, const float* x, size_t stride,
                         Lanes<kTokens>& lanes) {
  for (uint64_t k = 0; k < cols; ++k) {
    const __m256 w0 = load_half<kDType>(weights, k, 0), w1 = load_half<kDType>(weights, k, 1);
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      const __m256 value = _mm256_broadcast_ss(x + static_cast<size_t>(t) * stride + k);
      lanes.of[0][t] = _mm256_fmadd_ps(w0, value, lanes.of[0][t]);
      lanes.of[1][t] = _mm256_fmadd_ps(w1, value, lanes.of[1][t]);
    }
  }
}

template <int kTokens>
MOTLEY_INLINE void clear(Lanes<kTokens>& lanes) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) lanes.of[0][t] = lanes.of[1][t] = _mm256_setzero_ps();
}

template <DType kDType, int kTokens>
void float_tile(const Job& job, const std::byte* panel, uint32_t token) {
  Lanes<kTokens> lanes;
  clear(lanes);
  chain<kDType>(panel, job.w.cols, job.x.data + (job.first + token) * job.x.stride, job.x.stride, lanes);
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t)
    for (int half = 0; half < 2; ++half)
      _mm256_storeu_ps(job.y + (token + static_cast<uint32_t>(t)) * 16 + 8 * half, lanes.of[half][t]);
}

// One group, widened: (code - z) as f32 [cols][16], scales and biases.
struct Group {
  uint32_t cols = 0;
  bool biased = false;
  alignas(64) float codes[kMaxGroup][kPanelRows];
  alignas(64) float scales[kPanelRows];
  alignas(64) float biases[kPanelRows];
};

template <int kTokens>
void group_tile(const Job& job, const Group& group, uint64_t begin, uint64_t index, uint64_t groups, uint32_t token) {
  Lanes<kTokens> sums;
  clear(sums);
  const size_t row = job.first + token;
  chain<DType::kF32>(reinterpret_cast<const std::byte*>(group.codes), group.cols,
                     job.x.data + row * job.x.stride + begin, job.x.stride, sums);
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) MOTLEY_UNROLL
  for (int half = 0; half < 2; ++half) {
    float* y = job.y + (token + static_cast<uint32_t>(t)) * 16 + 8 * half;
    __m256 sum = _mm256_fmadd_ps(sums.of[half][t], _mm256_load_ps(group.scales + 8 * half), _mm256_loadu_ps(y));
    if (group.biased) {
      const __m256 total = _mm256_broadcast_ss(job.x.sums + (row + static_cast<size_t>(t)) * groups + index);
      sum = _mm256_fmadd_ps(_mm256_load_ps(group.biases + 8 * half), total, sum);
    }
    _mm256_storeu_ps(y, sum);
  }
}

// Eight rows of one quad to f32 [4 inputs][16 rows].
MOTLEY_INLINE void widen_quad(__m256i codes, __m256 zero_point, float* out) {
  const __m256i low_byte = _mm256_set1_epi32(0xff);
  MOTLEY_UNROLL
  for (int j = 0; j < 4; ++j) {
    const __m256i code = _mm256_and_si256(_mm256_srli_epi32(codes, 8 * j), low_byte);
    _mm256_store_ps(out + kPanelRows * j, _mm256_sub_ps(_mm256_cvtepi32_ps(code), zero_point));
  }
}

template <int kBits>
void widen_codes(const std::byte* chunk, uint32_t chunks, float zero_point, float (*out)[kPanelRows]) {
  const __m256 zero = _mm256_set1_ps(zero_point);
  for (uint32_t c = 0; c < chunks; ++c, chunk += chunk_bytes(kBits), out += kChunkCols) MOTLEY_UNROLL
  for (int q = 0; q < static_cast<int>(kQuadsPerChunk); ++q) {
    widen_quad(quad_codes<kBits>(chunk, q), zero, out[4 * q]);
    widen_quad(quad_codes<kBits>(chunk + 32, q), zero, out[4 * q] + 8);
  }
}

void widen_rows(DType dtype, const std::byte* from, float* to) {
  _mm256_store_ps(to, load_floats(dtype, from, 0));
  _mm256_store_ps(to + 8, load_floats(dtype, from, 1));
}

// d * int8 scale of one group of a super block.
void super_scales(const std::byte* block, uint32_t index, float* to) {
  for (uint32_t half = 0; half < 2; ++half) {
    const auto* at = reinterpret_cast<const __m128i*>(block + kSuperScalesAt + index * kPanelRows + 8 * half);
    const __m256 scales = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(at)));
    _mm256_store_ps(to + 8 * half, _mm256_mul_ps(load_f16x8(block + kSuperScaleAt + 16 * half), scales));
  }
}

using FloatTile = void (*)(const Job&, const std::byte*, uint32_t);
using GroupTile = void (*)(const Job&, const Group&, uint64_t, uint64_t, uint64_t, uint32_t);
using Widen = void (*)(const std::byte*, uint32_t, float, float (*)[kPanelRows]);

}  // namespace
MOTLEY_TARGET_END

namespace {

template <typename Function>
struct Tiles {
  Function of[kTileTokens];
};
using TokenCounts = std::make_integer_sequence<int, kTileTokens>;

template <DType kDType, int... kLess>
constexpr Tiles<FloatTile> float_tiles(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{float_tile<kDType, kLess + 1>...}};
}
template <int... kLess>
constexpr Tiles<GroupTile> group_tiles(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{group_tile<kLess + 1>...}};
}

template <DType kDType>
constexpr Tiles<FloatTile> kFloatTiles = float_tiles<kDType>(TokenCounts());
constexpr Tiles<GroupTile> kGroupTiles = group_tiles(TokenCounts());

Widen widen_of(uint32_t bits) {
  switch (bits) {
    case 2:
      return widen_codes<2>;
    case 3:
      return widen_codes<3>;
    case 4:
      return widen_codes<4>;
    case 5:
      return widen_codes<5>;
    case 6:
      return widen_codes<6>;
    default:
      return widen_codes<8>;
  }
}

void run_floats(const Job& job, const std::byte* panel) {
  const Tiles<FloatTile>& tiles = job.w.format.dtype == DType::kF32   ? kFloatTiles<DType::kF32>
                                  : job.w.format.dtype == DType::kF16 ? kFloatTiles<DType::kF16>
                                                                      : kFloatTiles<DType::kBF16>;
  for (uint32_t t = 0; t < job.count; t += kTileTokens)
    tiles.of[std::min(kTileTokens, job.count - t) - 1](job, panel, t);
}

void add_group(const Job& job, const Group& group, uint64_t begin, uint64_t index, uint64_t groups) {
  for (uint32_t t = 0; t < job.count; t += kTileTokens)
    kGroupTiles.of[std::min(kTileTokens, job.count - t) - 1](job, group, begin, index, groups, t);
}

void run_integers(const Job& job, const std::byte* block) {
  const PanelFormat& format = job.w.format;
  const IntegerBlock layout = integer_block(format);
  const Widen widen = widen_of(format.bits);
  const uint64_t groups = job.w.cols / format.group_size;
  Group group;
  group.cols = format.group_size;
  group.biased = format.offset == PanelFormat::Offset::kBiases;
  std::memset(job.y, 0, job.count * kPanelRows * sizeof(float));
  for (uint64_t g = 0; g < groups; ++g, block += layout.bytes) {
    widen(block, group.cols / kChunkCols, format.zero_point, group.codes);
    widen_rows(format.dtype, block + layout.scales_at, group.scales);
    if (group.biased) widen_rows(format.dtype, block + layout.biases_at, group.biases);
    add_group(job, group, g * group.cols, g, groups);
  }
}

void run_supers(const Job& job, const std::byte* block) {
  Group group;
  group.cols = 16;
  alignas(64) float chunk[kChunkCols][kPanelRows];
  std::memset(job.y, 0, job.count * kPanelRows * sizeof(float));
  for (uint64_t begin = 0; begin < job.w.cols; begin += kSuperBlockCols, block += kSuperBytes)
    for (uint32_t g = 0; g < kSuperGroups; ++g) {
      if (g % 2 == 0) widen_codes<6>(block + g / 2 * chunk_bytes(6), 1, 32, chunk);
      std::memcpy(group.codes, chunk[g % 2 * 16], 16 * kPanelRows * sizeof(float));
      super_scales(block, g, group.scales);
      add_group(job, group, begin + 16 * g, 0, 0);
    }
}

}  // namespace

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored) return matmul_stored_exact(w, x, panels, y, matmul_exact);
  alignas(64) float sums[kBlockTokens * kPanelRows];
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
    for (uint32_t first = 0; first < x.tokens; first += kBlockTokens) {
      const Job job{w, x, first, std::min(kBlockTokens, x.tokens - first), sums};
      switch (w.format.kind) {
        case PanelKind::kFloat:
          run_floats(job, w.panel(panel));
          break;
        case PanelKind::kInteger:
          run_integers(job, w.panel(panel));
          break;
        case PanelKind::kQ6_K:
          run_supers(job, w.panel(panel));
          break;
        case PanelKind::kStored:
          break;  // above
      }
      const uint64_t row = panel * kPanelRows, rows = std::min<uint64_t>(kPanelRows, w.rows - row);
      for (uint32_t t = 0; t < job.count; ++t)
        std::memcpy(y.data + (first + t) * y.stride + row, sums + kPanelRows * t, rows * sizeof(float));
    }
}

}  // namespace motley::kernels::avx2
#endif
