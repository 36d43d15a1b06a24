// Integer matmul with AVX2 for several tokens. A block of a panel is unpacked once, into 16-bit weights in the L1 cache
// that have the zero point taken off and, for Q6_K, the int8 scale multiplied in. So one tile serves every format:
// pairs of weights times pairs of activation codes by vpmaddwd, in 32-bit sums. Same bits as x86_avx2_matmul_stream.cc,
// which serves one token.
#if defined(__x86_64__)
#include <algorithm>
#include <utility>

#include "kernels/stored_panels.h"
#include "kernels/x86_avx2_codes.h"

namespace motley::kernels::avx2 {
namespace {

// A tile of 4 tokens x 16 rows has 8 accumulators; with two weights, an activation and a product it fits 16 registers.
constexpr uint32_t kTileTokens = 4;
// Inputs of a block: 8 KiB of weights, beside the sums of kBlockTokens tokens (4 KiB) and a tile's activations (2 KiB)
// in a 32 KiB L1. One super block of Q6_K.
constexpr uint32_t kBlockCols = 256;
// The codes of as many tokens stay in the second-level cache while all panels pass.
constexpr uint32_t kBlockTokens = 64;
// A part is what shares one weight scale and one activation scale.
constexpr uint32_t kPartCols = kChunkCols;
constexpr uint32_t kBlockParts = kBlockCols / kPartCols;
constexpr uint32_t kPartPairs = kPartCols / 2;

// One block of one panel, made ready for any number of tiles.
struct Block {
  uint32_t parts = 0;
  bool biased = false;
  alignas(64) int16_t weights[kBlockParts][kPartPairs][kPanelRows][2];
  alignas(64) float scales[kBlockParts][kPanelRows];
  alignas(64) float biases[kBlockParts][kPanelRows];
};

// The tokens of a tile at a block's first input and part: pointers to the first token, strides to the next.
struct Tile {
  const Block& block;
  const int16_t* codes;
  size_t codes_stride;
  const float* scales;
  const int32_t* sums;
  size_t parts_stride;  // of scales and sums
  float* y;             // [tokens][16]
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

template <int kTokens>
struct Sums {
  __m256i of[2][kTokens];  // [half of the panel's rows][token], int32
};

template <int kTokens>
MOTLEY_INLINE void dot(const int16_t (*weights)[kPanelRows][2], const Tile& tile, size_t col, Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int pair = 0; pair < static_cast<int>(kPartPairs); ++pair) {
    const __m256i w0 = load_bytes(weights[pair][0]), w1 = load_bytes(weights[pair][8]);
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      const __m256i two =
          broadcast4(tile.codes + static_cast<size_t>(t) * tile.codes_stride + col + 2 * static_cast<size_t>(pair));
      const __m256i p0 = _mm256_madd_epi16(w0, two), p1 = _mm256_madd_epi16(w1, two);
      sums.of[0][t] = pair == 0 ? p0 : add_in_order32(sums.of[0][t], p0);
      sums.of[1][t] = pair == 0 ? p1 : add_in_order32(sums.of[1][t], p1);
    }
  }
}

// y = fma(f32(i) * scale, xscale, y), then with biases y = fma(bias, xscale * sum, y).
template <int kTokens, bool kBiased>
MOTLEY_INLINE void accumulate(const Tile& tile, uint32_t part, const Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    const size_t at = static_cast<size_t>(t) * tile.parts_stride + part;
    const float xscale = tile.scales[at];
    MOTLEY_UNROLL
    for (int half = 0; half < 2; ++half) {
      float* y = tile.y + 16 * t + 8 * half;
      const __m256 scaled =
          _mm256_mul_ps(_mm256_cvtepi32_ps(sums.of[half][t]), _mm256_load_ps(tile.block.scales[part] + 8 * half));
      __m256 sum = _mm256_fmadd_ps(scaled, _mm256_set1_ps(xscale), _mm256_load_ps(y));
      if constexpr (kBiased) {
        const __m256 scaled_sum = _mm256_set1_ps(xscale * static_cast<float>(tile.sums[at]));
        sum = _mm256_fmadd_ps(_mm256_load_ps(tile.block.biases[part] + 8 * half), scaled_sum, sum);
      }
      _mm256_store_ps(y, sum);
    }
  }
}

template <int kTokens, bool kBiased>
void run_tile(const Tile& tile) {
  for (uint32_t part = 0; part < tile.block.parts; ++part) {
    Sums<kTokens> sums;
    dot(tile.block.weights[part], tile, size_t{part} * kPartCols, sums);
    accumulate<kTokens, kBiased>(tile, part, sums);
  }
}

// --- tiles of stored matrices, which quant has unpacked

// The tokens of a tile at an integer tile's first input.
struct StoredTile {
  const IntegerTile& weights;
  const int16_t* codes;
  size_t codes_stride;
  const float* scales;  // of each 32 inputs
  const int32_t* sums;  // of each 16
  size_t scales_stride;
  float* y;  // [tokens][16]
};

template <int kTokens, bool kBiased>
void run_stored_tile(const StoredTile& tile) {
  for (uint32_t run = 0; run < tile.weights.runs; ++run) {
    Sums<kTokens> sums;
    MOTLEY_UNROLL
    for (int pair = 0; pair < static_cast<int>(kRunPairs); ++pair) {
      const auto& weights = tile.weights.weights[run][pair];
      const __m256i w0 = load_bytes(weights[0]), w1 = load_bytes(weights[8]);
      const int16_t* codes = tile.codes + size_t{run} * quant::kIntegerRun + 2 * static_cast<size_t>(pair);
      MOTLEY_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        const __m256i two = broadcast4(codes + static_cast<size_t>(t) * tile.codes_stride);
        const __m256i p0 = _mm256_madd_epi16(w0, two), p1 = _mm256_madd_epi16(w1, two);
        sums.of[0][t] = pair == 0 ? p0 : add_in_order32(sums.of[0][t], p0);
        sums.of[1][t] = pair == 0 ? p1 : add_in_order32(sums.of[1][t], p1);
      }
    }
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      const size_t at = static_cast<size_t>(t) * tile.scales_stride;
      const float xscale = tile.scales[at + run / 2];
      MOTLEY_UNROLL
      for (int half = 0; half < 2; ++half) {
        float* y = tile.y + 16 * t + 8 * half;
        const __m256 scaled =
            _mm256_mul_ps(_mm256_cvtepi32_ps(sums.of[half][t]), _mm256_load_ps(tile.weights.scales[run] + 8 * half));
        __m256 sum = _mm256_fmadd_ps(scaled, _mm256_set1_ps(xscale), _mm256_loadu_ps(y));
        if constexpr (kBiased) {
          const __m256 scaled_sum = _mm256_set1_ps(xscale * static_cast<float>(tile.sums[2 * at + run]));
          sum = _mm256_fmadd_ps(_mm256_load_ps(tile.weights.biases[run] + 8 * half), scaled_sum, sum);
        }
        _mm256_storeu_ps(y, sum);
      }
    }
  }
}

MOTLEY_INLINE int32_t sum_of(__m256i eight) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

float add_row(const IntegerRow& row, const QuantizedRows& x, uint64_t begin, float y) {
  __m128 sum = _mm_set_ss(y);
  for (uint32_t run = 0; run < row.runs; ++run) {
    const uint64_t col = begin + uint64_t{run} * quant::kIntegerRun;
    const __m256i products =
        _mm256_madd_epi16(load_bytes(row.weights + run * quant::kIntegerRun), load_bytes(x.codes + col));
    const float xscale = x.scales[col / kPartCols];
    const float scaled = static_cast<float>(sum_of(products)) * row.scales[run];
    sum = _mm_fmadd_ss(_mm_set_ss(scaled), _mm_set_ss(xscale), sum);
    if (!row.biased) continue;
    const int32_t half_sum = x.half_sums[col / quant::kIntegerRun];
    const float scaled_sum = xscale * static_cast<float>(half_sum);
    sum = _mm_fmadd_ss(_mm_set_ss(row.biases[run]), _mm_set_ss(scaled_sum), sum);
  }
  return _mm_cvtss_f32(sum);
}

// --- unpacking

// Of the four bytes of a row, those at `first` and `first` + 1 as 16 bits.
MOTLEY_INLINE __m256i widen_pair(__m256i quad, int first) {
  const __m256i from = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1,  //
                                        0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
  return _mm256_shuffle_epi8(first == 0 ? quad : _mm256_srli_epi32(quad, 16), from);
}

// A chunk's codes less the zero point; factors[2 * g + half] times that for its groups g of 16 where there are any.
template <int kBits>
MOTLEY_INLINE void unpack_chunk(const std::byte* chunk, __m256i zero_point, const __m256i* factors,
                                int16_t (*out)[kPanelRows][2]) {
  MOTLEY_UNROLL
  for (int q = 0; q < static_cast<int>(kQuadsPerChunk); ++q)
    for (int half = 0; half < 2; ++half) {
      const __m256i codes = quad_codes<kBits>(chunk + 32 * half, q);
      for (int pair = 0; pair < 2; ++pair) {
        __m256i weights = _mm256_sub_epi16(widen_pair(codes, 2 * pair), zero_point);
        if (factors != nullptr) weights = _mm256_mullo_epi16(weights, factors[2 * (q / 4) + half]);
        store_bytes(out[2 * q + pair][8 * half], weights);
      }
    }
}

// Parts [first, first + block.parts) of a row of groups.
template <int kBits>
void unpack_integer(const PanelFormat& format, const std::byte* group, Block& block) {
  const IntegerBlock layout = integer_block(format);
  const uint32_t parts_per_group = format.group_size / kPartCols;
  const __m256i zero_point = _mm256_set1_epi16(block.biased ? int16_t{0} : int16_t{format.zero_point});
  for (uint32_t part = 0; part < block.parts; ++part) {
    const std::byte* at = group + part / parts_per_group * layout.bytes;
    unpack_chunk<kBits>(at + part % parts_per_group * chunk_bytes(kBits), zero_point, nullptr, block.weights[part]);
    for (uint32_t half = 0; half < 2; ++half) {
      _mm256_store_ps(block.scales[part] + 8 * half, load_floats(format.dtype, at + layout.scales_at, half));
      if (block.biased)
        _mm256_store_ps(block.biases[part] + 8 * half, load_floats(format.dtype, at + layout.biases_at, half));
    }
  }
}

// |code - 32| * |int8 scale| is at most 32 * 128.
void unpack_super(const PanelFormat& /*format*/, const std::byte* super, Block& block) {
  const std::byte* scales = super + kSuperScalesAt;
  for (uint32_t part = 0; part < block.parts; ++part, scales += 2 * kPanelRows) {
    __m256i factors[4];
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales + 8 * i));
      factors[i] = twice(_mm_cvtepi8_epi16(bytes));
    }
    unpack_chunk<6>(super + part * chunk_bytes(6), _mm256_set1_epi16(32), factors, block.weights[part]);
    for (uint32_t half = 0; half < 2; ++half)
      _mm256_store_ps(block.scales[part] + 8 * half, load_f16x8(super + kSuperScaleAt + 16 * half));
  }
}

}  // namespace
MOTLEY_TARGET_END

namespace {

// --- choosing the code for a width and a number of tokens

using UnpackFunction = void (*)(const PanelFormat&, const std::byte*, Block&);

UnpackFunction unpack_of(const PanelFormat& format) {
  if (format.kind == PanelKind::kQ6_K) return unpack_super;
  switch (format.bits) {
    case 2:
      return unpack_integer<2>;
    case 3:
      return unpack_integer<3>;
    case 4:
      return unpack_integer<4>;
    case 5:
      return unpack_integer<5>;
    case 6:
      return unpack_integer<6>;
    default:
      return unpack_integer<8>;
  }
}

using TileFunction = void (*)(const Tile&);
struct TileFunctions {
  TileFunction of[kTileTokens];  // [tokens - 1]
};

template <bool kBiased, int... kLess>
constexpr TileFunctions tile_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{run_tile<kLess + 1, kBiased>...}};
}
template <bool kBiased>
constexpr TileFunctions kTiles = tile_functions<kBiased>(std::make_integer_sequence<int, kTileTokens>());

using StoredTileFunction = void (*)(const StoredTile&);
struct StoredTileFunctions {
  StoredTileFunction of[kTileTokens];  // [tokens - 1]
};
template <bool kBiased, int... kLess>
constexpr StoredTileFunctions stored_tile_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {{run_stored_tile<kLess + 1, kBiased>...}};
}
template <bool kBiased>
constexpr StoredTileFunctions kStoredTiles =
    stored_tile_functions<kBiased>(std::make_integer_sequence<int, kTileTokens>());

// --- the loops

void add_tile(const IntegerTile& weights, const QuantizedRows& x, uint64_t begin, float* y) {
  const StoredTileFunctions& tiles = weights.biased ? kStoredTiles<true> : kStoredTiles<false>;
  for (uint32_t t = 0; t < x.tokens; t += kTileTokens) {
    const size_t group = t * x.groups + begin / kPartCols;
    tiles.of[std::min(kTileTokens, x.tokens - t) - 1]({.weights = weights,
                                                       .codes = x.codes + t * x.stride + begin,
                                                       .codes_stride = x.stride,
                                                       .scales = x.scales + group,
                                                       .sums = x.half_sums + 2 * group,
                                                       .scales_stride = x.groups,
                                                       .y = y + size_t{kPanelRows} * t});
  }
}

struct Job {
  const PanelMatrix& w;
  const QuantizedRows& x;
  UnpackFunction unpack;
  uint32_t first, count;  // tokens
};

// Adds a block's inputs from column `begin` to y[token][16].
void add_block(const Job& job, const Block& block, uint64_t begin, float* y) {
  const TileFunctions& tiles = block.biased ? kTiles<true> : kTiles<false>;
  const size_t parts = job.w.cols / kPartCols;
  for (uint32_t t = 0; t < job.count; t += kTileTokens) {
    const size_t token = job.first + t, at = token * parts + begin / kPartCols;
    tiles.of[std::min(kTileTokens, job.count - t) - 1]({.block = block,
                                                        .codes = job.x.codes + token * job.x.stride + begin,
                                                        .codes_stride = job.x.stride,
                                                        .scales = job.x.scales + at,
                                                        .sums = job.x.sums + at,
                                                        .parts_stride = parts,
                                                        .y = y + size_t{kPanelRows} * t});
  }
}

void run_panel(const Job& job, uint64_t panel, const OutputRows& out) {
  alignas(64) float y[kBlockTokens * kPanelRows];
  std::memset(y, 0, job.count * kPanelRows * sizeof(float));
  Block block;
  block.biased = job.w.format.kind == PanelKind::kInteger && job.w.format.offset == PanelFormat::Offset::kBiases;
  const std::byte* at = job.w.panel(panel);
  for (uint64_t begin = 0; begin < job.w.cols; begin += kBlockCols) {
    const uint64_t cols = std::min<uint64_t>(kBlockCols, job.w.cols - begin);
    block.parts = static_cast<uint32_t>(cols / kPartCols);
    job.unpack(job.w.format, at, block);
    add_block(job, block, begin, y);
    at += panel_bytes(job.w.format, cols);
  }
  const uint64_t row = panel * kPanelRows, rows = std::min<uint64_t>(kPanelRows, job.w.rows - row);
  for (uint32_t t = 0; t < job.count; ++t)
    std::memcpy(out.data + (job.first + t) * out.stride + row, y + size_t{kPanelRows} * t, rows * sizeof(float));
}

}  // namespace

void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  if (w.format.kind == PanelKind::kStored)
    return matmul_stored_fast(w, x, panels, y, {.add_tile = add_tile, .add_row = add_row});
  if (x.tokens == 1) return matmul_stream(w, x, panels, y);
  for (uint32_t t = 0; t < x.tokens; t += kBlockTokens)
    for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
      run_panel({w, x, unpack_of(w.format), t, std::min(kBlockTokens, x.tokens - t)}, panel, y);
}

}  // namespace motley::kernels::avx2
#endif
