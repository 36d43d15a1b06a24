// Integer matmul with AVX2: u8 codes times s8 activations by vpmaddubsw, as many int16 sums as the bit width allows,
// then vpmaddwd. Two ways to the same bits. Up to kDirectTokens tokens the codes are unpacked in registers and every
// weight is read once. More tokens meet a block of the panel that was unpacked into the L1 cache, so that unpacking
// costs next to nothing.
#if defined(__x86_64__)
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/x86_avx2_codes.h"

namespace motley::kernels::avx2 {
namespace {

// A tile of 4 tokens x 16 rows has 8 int16 accumulators; with two code vectors and one of activations it fits 16
// registers.
constexpr uint32_t kTileTokens = 4;
constexpr uint32_t kDirectTokens = 4;
// Inputs of a block: 4 KiB of unpacked codes, with 1 KiB of activations a tile and the sums of kBlockTokens tokens (8
// KiB) in a 32 KiB L1. One super block of Q6_K.
constexpr uint32_t kBlockCols = 256;
constexpr uint32_t kBlockTokens = 128;
// A part is what shares one weight scale and one activation scale: one chunk of 32 inputs.
constexpr uint32_t kBlockParts = kBlockCols / kChunkCols;
// Bytes of a part's activations in a packed tile.
constexpr uint32_t kPartCodes = kTileTokens * kChunkCols;

struct Shape {
  PanelFormat format;
  uint32_t part_cols = 0;
  uint32_t group_bytes = 0;      // of a panel's block: one group, or one super block
  uint32_t parts_per_group = 0;  // in such a block
  uint32_t scales_at = 0, biases_at = 0;
  int32_t offset = 0;  // what the integer sums still lack: minus offset * sum of the part's activations
  bool biased = false;
};

Shape shape_of(const PanelFormat& format) {
  Shape shape;
  shape.format = format;
  shape.part_cols = format.activation_group();
  if (format.kind == PanelKind::kQ6_K) {
    shape.group_bytes = kSuperBytes;
    shape.parts_per_group = kSuperBlockCols / shape.part_cols;
    return shape;
  }
  const IntegerBlock layout = integer_block(format);
  shape.group_bytes = layout.bytes;
  shape.parts_per_group = format.group_size / shape.part_cols;
  shape.scales_at = layout.scales_at;
  shape.biases_at = layout.biases_at;
  shape.biased = format.offset == PanelFormat::Offset::kBiases;
  // The integer kernel reads 8-bit codes as code - 128, to fit vpmaddubsw.
  shape.offset = format.zero_point - (format.bits == 8 ? 128 : 0);
  return shape;
}

// One block of one panel, made ready for any number of tiles.
struct Block {
  uint32_t parts = 0;
  uint32_t chunks_per_part = 0;
  const std::byte* codes[kBlockParts];  // of each part: in the panel, or in `unpacked`
  alignas(64) float scales[kBlockParts][kPanelRows];
  alignas(64) float biases[kBlockParts][kPanelRows];
  // Q6_K: int8 scales as factors of vpmaddwd: a group's scale twice, and both scales of a part side by side.
  alignas(64) int32_t group_factors[kSuperGroups][kPanelRows];
  alignas(64) int32_t part_factors[kBlockParts][kPanelRows];
  alignas(64) std::byte unpacked[kBlockCols * kPanelRows];
};

struct Tile {
  const Shape& shape;
  const Block& block;
  const int8_t* codes;  // from the block's first input: [quad][kTileTokens][4], see pack_tile()
  const float* scales;  // of the first token at the block's first part
  size_t scales_stride;
  const int32_t* offsets;  // like scales, and so are these
  const float* scaled_sums;
  float* y;  // [tokens][16]
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

// Where the codes of a part come from: the panel itself, or the unpacked block (64 bytes a quad).
template <int kBits>
struct PackedCodes {
  static MOTLEY_INLINE __m256i quad(const std::byte* part, int half, int q) {
    return quad_codes<kBits>(part + 32 * half, q);
  }
};
struct UnpackedCodes {
  static MOTLEY_INLINE __m256i quad(const std::byte* part, int half, int q) {
    return load_bytes(part + q * static_cast<int>(kVectorBytes) + 32 * half);
  }
};

template <int kTokens>
struct Sums {
  __m256i of[2][kTokens];  // [half of the rows][token], int32
};

// int16 sums of kSafeQuads quads from `first`.
template <int kBits, typename Codes, int kTokens>
MOTLEY_INLINE void run_of_quads(const std::byte* part, const int8_t* x, int first, Sums<kTokens>& run) {
  MOTLEY_UNROLL
  for (int q = 0; q < kSafeQuads<kBits>; ++q) {
    const __m256i w0 = Codes::quad(part, 0, first + q), w1 = Codes::quad(part, 1, first + q);
    MOTLEY_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      const __m256i four = broadcast4(x + 4 * (static_cast<int>(kTileTokens) * (first + q) + t));
      const __m256i p0 = pair_sums<kBits>(w0, four), p1 = pair_sums<kBits>(w1, four);
      run.of[0][t] = q == 0 ? p0 : add_in_order(run.of[0][t], p0);
      run.of[1][t] = q == 0 ? p1 : add_in_order(run.of[1][t], p1);
    }
  }
}

template <int kTokens>
MOTLEY_INLINE void fold(const Sums<kTokens>& run, __m256i factors0, __m256i factors1, Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    sums.of[0][t] = _mm256_add_epi32(sums.of[0][t], _mm256_madd_epi16(run.of[0][t], factors0));
    sums.of[1][t] = _mm256_add_epi32(sums.of[1][t], _mm256_madd_epi16(run.of[1][t], factors1));
  }
}

template <int kTokens>
MOTLEY_INLINE void clear(Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) sums.of[0][t] = sums.of[1][t] = _mm256_setzero_si256();
}

// sum of code * xq over a part.
template <int kBits, typename Codes, int kTokens>
MOTLEY_INLINE void dot(const std::byte* part, const int8_t* x, Sums<kTokens>& sums) {
  const __m256i ones = _mm256_set1_epi16(1);
  clear(sums);
  MOTLEY_UNROLL
  for (int first = 0; first < static_cast<int>(kQuadsPerChunk); first += kSafeQuads<kBits>) {
    Sums<kTokens> run;
    run_of_quads<kBits, Codes>(part, x, first, run);
    fold(run, ones, ones, sums);
  }
}

// The same over a part of Q6_K, each group of 16 times its scale: vpmaddwd multiplies by it for nothing.
template <typename Codes, int kTokens>
MOTLEY_INLINE void scaled_dot(const std::byte* part, const int8_t* x, const int32_t (*factors)[kPanelRows],
                              Sums<kTokens>& sums) {
  clear(sums);
  MOTLEY_UNROLL
  for (int first = 0; first < static_cast<int>(kQuadsPerChunk); first += kSafeQuads<6>) {
    Sums<kTokens> run;
    run_of_quads<6, Codes>(part, x, first, run);
    fold(run, load_bytes(factors[first / 4]), load_bytes(factors[first / 4] + 8), sums);
  }
}

// The sums less 32 * (s0 * h0 + s1 * h1).
template <int kTokens>
MOTLEY_INLINE void subtract_halves(const Tile& tile, uint32_t part, Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    const __m256i halves = _mm256_set1_epi32(tile.offsets[static_cast<size_t>(t) * tile.scales_stride + part]);
    MOTLEY_UNROLL
    for (int half = 0; half < 2; ++half) {
      const __m256i product = _mm256_madd_epi16(load_bytes(tile.block.part_factors[part] + 8 * half), halves);
      sums.of[half][t] = _mm256_sub_epi32(sums.of[half][t], _mm256_slli_epi32(product, 5));
    }
  }
}

template <int kTokens>
MOTLEY_INLINE void subtract_offsets(const Tile& tile, uint32_t part, Sums<kTokens>& sums) {
  if (tile.shape.offset == 0) return;
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    const __m256i offset = _mm256_set1_epi32(tile.offsets[static_cast<size_t>(t) * tile.scales_stride + part]);
    sums.of[0][t] = _mm256_sub_epi32(sums.of[0][t], offset);
    sums.of[1][t] = _mm256_sub_epi32(sums.of[1][t], offset);
  }
}

// y = fma(f32(i) * scale, xscale, y), then with biases y = fma(bias, xscale * sum, y).
template <int kTokens>
MOTLEY_INLINE void accumulate(const Tile& tile, uint32_t part, const Sums<kTokens>& sums) {
  MOTLEY_UNROLL
  for (int t = 0; t < kTokens; ++t) {
    const __m256 xscale = _mm256_set1_ps(tile.scales[static_cast<size_t>(t) * tile.scales_stride + part]);
    const __m256 scaled_sum = _mm256_set1_ps(tile.scaled_sums[static_cast<size_t>(t) * tile.scales_stride + part]);
    MOTLEY_UNROLL
    for (int half = 0; half < 2; ++half) {
      float* y = tile.y + 16 * t + 8 * half;
      const __m256 scaled =
          _mm256_mul_ps(_mm256_cvtepi32_ps(sums.of[half][t]), _mm256_load_ps(tile.block.scales[part] + 8 * half));
      __m256 sum = _mm256_fmadd_ps(scaled, xscale, _mm256_load_ps(y));
      if (tile.shape.biased) sum = _mm256_fmadd_ps(_mm256_load_ps(tile.block.biases[part] + 8 * half), scaled_sum, sum);
      _mm256_store_ps(y, sum);
    }
  }
}

template <int kBits, typename Codes, int kTokens>
void integer_tile(const Tile& tile) {
  for (uint32_t part = 0; part < tile.block.parts; ++part) {
    Sums<kTokens> sums;
    dot<kBits, Codes>(tile.block.codes[part], tile.codes + part * kPartCodes, sums);
    subtract_offsets(tile, part, sums);
    accumulate(tile, part, sums);
  }
}

template <typename Codes, int kTokens>
void super_tile(const Tile& tile) {
  for (uint32_t part = 0; part < tile.block.parts; ++part) {
    Sums<kTokens> sums;
    scaled_dot<Codes>(tile.block.codes[part], tile.codes + part * kPartCodes, tile.block.group_factors + 2 * part,
                      sums);
    subtract_halves(tile, part, sums);
    accumulate(tile, part, sums);
  }
}

template <int kBits>
void unpack(const std::byte* part, uint32_t chunks, std::byte* out) {
  for (uint32_t chunk = 0; chunk < chunks; ++chunk, part += chunk_bytes(kBits)) MOTLEY_UNROLL
  for (int q = 0; q < static_cast<int>(kQuadsPerChunk); ++q, out += kVectorBytes) {
    store_bytes(out, quad_codes<kBits>(part, q));
    store_bytes(out + 32, quad_codes<kBits>(part + 32, q));
  }
}

MOTLEY_INLINE void widen_rows(DType dtype, const std::byte* from, float* to) {
  _mm256_store_ps(to, load_floats(dtype, from, 0));
  _mm256_store_ps(to + 8, load_floats(dtype, from, 1));
}

// Factors of vpmaddwd from the int8 scales of a super block.
void prepare_factors(const std::byte* scales, Block& block) {
  const __m256i low_half = _mm256_set1_epi32(0xffff);
  for (uint32_t part = 0; part < kBlockParts; ++part)
    for (uint32_t half = 0; half < 2; ++half) {
      const std::byte* at = scales + 2 * part * kPanelRows + 8 * half;
      const __m256i s0 = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
      const __m256i s1 = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + kPanelRows)));
      const __m256i low0 = _mm256_and_si256(s0, low_half), low1 = _mm256_and_si256(s1, low_half);
      const __m256i high0 = _mm256_slli_epi32(s0, 16), high1 = _mm256_slli_epi32(s1, 16);
      store_bytes(block.group_factors[2 * part] + 8 * half, _mm256_or_si256(low0, high0));
      store_bytes(block.group_factors[2 * part + 1] + 8 * half, _mm256_or_si256(low1, high1));
      store_bytes(block.part_factors[part] + 8 * half, _mm256_or_si256(low0, high1));
    }
}

// Parts [first, first + block.parts) of the panel's groups, which begin at `group`.
void prepare_scales(const Shape& shape, const std::byte* group, Block& block) {
  for (uint32_t part = 0; part < block.parts; ++part) {
    const std::byte* at = group + part / shape.parts_per_group * shape.group_bytes;
    if (shape.format.kind == PanelKind::kQ6_K) {
      widen_rows(DType::kF16, at + kSuperScaleAt, block.scales[part]);
      continue;
    }
    widen_rows(shape.format.dtype, at + shape.scales_at, block.scales[part]);
    if (shape.biased) widen_rows(shape.format.dtype, at + shape.biases_at, block.biases[part]);
  }
  if (shape.format.kind == PanelKind::kQ6_K) prepare_factors(group + kSuperScalesAt, block);
}

// Columns [begin, begin + cols) of four rows of codes with their quads side by side, so that a tile reads them from one
// address: [cols/4][kTileTokens][4]. Rows from `tokens` on are left out.
void pack_tile(const int8_t* codes, uint64_t stride, uint64_t begin, uint64_t cols, uint32_t tokens, int8_t* out) {
  for (uint64_t col = begin; col < begin + cols; col += 16, out += 16 * kTileTokens) {
    __m128i rows[kTileTokens] = {};
    for (uint32_t t = 0; t < tokens; ++t)
      rows[t] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + t * stride + col));
    const __m128i a = _mm_unpacklo_epi32(rows[0], rows[1]), b = _mm_unpacklo_epi32(rows[2], rows[3]);
    const __m128i c = _mm_unpackhi_epi32(rows[0], rows[1]), d = _mm_unpackhi_epi32(rows[2], rows[3]);
    const __m128i quads[4] = {_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b), _mm_unpacklo_epi64(c, d),
                              _mm_unpackhi_epi64(c, d)};
    for (int q = 0; q < 4; ++q) _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * q), quads[q]);
  }
}

// For `parts` parts of one token from `at`: offset * sum and scale * sum, or for Q6_K the sums of both halves side by
// side.
void prepare_token(const Shape& shape, const QuantizedRows& x, size_t at, uint32_t parts, int32_t* offsets,
                   float* scaled_sums) {
  if (shape.format.kind == PanelKind::kQ6_K) {
    for (uint32_t part = 0; part < parts; ++part) {
      const uint32_t h0 = static_cast<uint32_t>(x.half_sums[2 * (at + part)]) & 0xffffu;
      offsets[part] = static_cast<int32_t>(h0 | static_cast<uint32_t>(x.half_sums[2 * (at + part) + 1]) << 16);
    }
    return;
  }
  uint32_t part = 0;
  for (; part + 4 <= parts; part += 4) {
    const __m128i sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x.sums + at + part));
    const __m128i products = _mm_mullo_epi32(sums, _mm_set1_epi32(shape.offset));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(offsets + part), products);
    _mm_storeu_ps(scaled_sums + part, _mm_mul_ps(_mm_loadu_ps(x.scales + at + part), _mm_cvtepi32_ps(sums)));
  }
  for (; part < parts; ++part) {
    offsets[part] = shape.offset * x.sums[at + part];
    scaled_sums[part] = x.scales[at + part] * static_cast<float>(x.sums[at + part]);
  }
}

// --- choosing the code for a width and a number of tokens
// ---------------------------------------------------------------------

using TileFunction = void (*)(const Tile&);
using UnpackFunction = void (*)(const std::byte*, uint32_t, std::byte*);

struct Functions {
  UnpackFunction unpack;
  TileFunction direct[kTileTokens], unpacked[kTileTokens];
};

}  // namespace
MOTLEY_TARGET_END

namespace {

using TokenCounts = std::make_integer_sequence<int, kTileTokens>;

template <int kBits, int... kLess>
constexpr Functions integer_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {unpack<kBits>,
          {integer_tile<kBits, PackedCodes<kBits>, kLess + 1>...},
          {integer_tile<kBits, UnpackedCodes, kLess + 1>...}};
}
template <int... kLess>
constexpr Functions super_functions(std::integer_sequence<int, kLess...> /*counts*/) {
  return {unpack<6>, {super_tile<PackedCodes<6>, kLess + 1>...}, {super_tile<UnpackedCodes, kLess + 1>...}};
}

template <int kBits>
constexpr Functions kIntegerFunctions = integer_functions<kBits>(TokenCounts());
constexpr Functions kSuperFunctions = super_functions(TokenCounts());

const Functions& functions_of(const PanelFormat& format) {
  if (format.kind == PanelKind::kQ6_K) return kSuperFunctions;
  switch (format.bits) {
    case 2:
      return kIntegerFunctions<2>;
    case 3:
      return kIntegerFunctions<3>;
    case 4:
      return kIntegerFunctions<4>;
    case 5:
      return kIntegerFunctions<5>;
    case 6:
      return kIntegerFunctions<6>;
    default:
      return kIntegerFunctions<8>;
  }
}

// What all panels need of the activations, made once a call.
struct Prepared {
  uint64_t tile_rows = 0;        // rows of x, filled up to whole tiles
  std::vector<int8_t> tiles;     // pack_tile() of every four rows, block of inputs by block
  std::vector<int32_t> offsets;  // [rows][parts], and so are these
  std::vector<float> scaled_sums;
};

Prepared prepare(const Shape& shape, uint64_t cols, const QuantizedRows& x) {
  const uint64_t tile_rows = (x.tokens + kTileTokens - 1) / kTileTokens * kTileTokens, parts = cols / shape.part_cols;
  Prepared result{.tile_rows = tile_rows,
                  .tiles = std::vector<int8_t>(tile_rows * cols),
                  .offsets = std::vector<int32_t>(x.tokens * parts),
                  .scaled_sums = std::vector<float>(x.tokens * parts)};
  for (size_t at = 0; at < result.offsets.size(); at += parts)
    prepare_token(shape, x, at, static_cast<uint32_t>(parts), &result.offsets[at], &result.scaled_sums[at]);
  for (uint64_t begin = 0; begin < cols; begin += kBlockCols) {
    const uint64_t block_cols = std::min<uint64_t>(kBlockCols, cols - begin);
    for (uint32_t t = 0; t < x.tokens; t += kTileTokens)
      pack_tile(x.codes + t * cols, cols, begin, block_cols, std::min(kTileTokens, x.tokens - t),
                &result.tiles[begin * tile_rows + t * block_cols]);
  }
  return result;
}

// Tokens [first, first + count) against one panel.
struct Job {
  const Shape& shape;
  const Functions& functions;
  const PanelMatrix& w;
  const QuantizedRows& x;
  const Prepared& prepared;
  uint32_t first, count;
};

void point_at_codes(const Job& job, const std::byte* group, Block& block) {
  const uint32_t part_bytes = block.chunks_per_part * chunk_bytes(job.shape.format.bits);
  for (uint32_t part = 0; part < block.parts; ++part) {
    const uint32_t in_group = part % job.shape.parts_per_group;
    block.codes[part] = group + part / job.shape.parts_per_group * job.shape.group_bytes + in_group * part_bytes;
    if (job.count <= kDirectTokens) continue;
    std::byte* unpacked = block.unpacked + part * job.shape.part_cols * kPanelRows;
    job.functions.unpack(block.codes[part], block.chunks_per_part, unpacked);
    block.codes[part] = unpacked;
  }
}

// Adds a block's inputs from column `begin` to y[token][16].
void add_block(const Job& job, const Block& block, uint64_t begin, float* y) {
  const auto& tiles = job.count <= kDirectTokens ? job.functions.direct : job.functions.unpacked;
  const size_t row_parts = job.w.cols / job.shape.part_cols;
  for (uint32_t t = 0; t < job.count; t += kTileTokens) {
    const uint32_t tokens = std::min(kTileTokens, job.count - t);
    const size_t token = job.first + t, at = token * row_parts + begin / job.shape.part_cols;
    tiles[tokens - 1]({.shape = job.shape,
                       .block = block,
                       .codes = &job.prepared.tiles[begin * job.prepared.tile_rows +
                                                    token * std::min<uint64_t>(kBlockCols, job.w.cols - begin)],
                       .scales = job.x.scales + at,
                       .scales_stride = row_parts,
                       .offsets = &job.prepared.offsets[at],
                       .scaled_sums = &job.prepared.scaled_sums[at],
                       .y = y + 16 * t});
  }
}

void run_panel(const Job& job, uint64_t panel, const OutputRows& out) {
  alignas(64) float y[kBlockTokens * kPanelRows];
  std::memset(y, 0, job.count * kPanelRows * sizeof(float));
  Block block;
  block.chunks_per_part = job.shape.part_cols / kChunkCols;
  const std::byte* group = job.w.panel(panel);
  const uint32_t group_cols = job.shape.parts_per_group * job.shape.part_cols;
  for (uint64_t begin = 0; begin < job.w.cols; begin += kBlockCols) {
    const auto cols = static_cast<uint32_t>(std::min<uint64_t>(kBlockCols, job.w.cols - begin));
    block.parts = cols / job.shape.part_cols;
    prepare_scales(job.shape, group, block);
    point_at_codes(job, group, block);
    add_block(job, block, begin, y);
    group += cols / group_cols * job.shape.group_bytes;
  }
  const uint64_t row = panel * kPanelRows, rows = std::min<uint64_t>(kPanelRows, job.w.rows - row);
  for (uint32_t t = 0; t < job.count; ++t)
    std::memcpy(out.data + (job.first + t) * out.stride + row, y + kPanelRows * t, rows * sizeof(float));
}

}  // namespace

void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  if (x.tokens <= kStreamRows) return matmul_stream(w, x, panels, y);
  const Shape shape = shape_of(w.format);
  const Functions& functions = functions_of(w.format);
  const Prepared prepared = prepare(shape, w.cols, x);
  // The activations of kBlockTokens rows stay in the second-level cache while all panels pass.
  for (uint32_t t = 0; t < x.tokens; t += kBlockTokens)
    for (uint64_t panel = panels.begin; panel < panels.end; ++panel)
      run_panel({shape, functions, w, x, prepared, t, std::min(kBlockTokens, x.tokens - t)}, panel, y);
}

}  // namespace motley::kernels::avx2
#endif
