// Integer matmul with AVX2 for very few rows of activations: each panel is read once, front to back, with the results
// of its 16 rows in registers. What depends on the activations alone is computed once for all panels. Same bits as
// x86_avx2_matmul_fast.cc, which serves more rows.
#if defined(__x86_64__)
#include <array>
#include <vector>

#include "kernels/x86_avx2_codes.h"

namespace motley::kernels::avx2 {
namespace {

constexpr uint32_t kPartCols = kChunkCols;  // inputs that share one activation scale

// Per part of 32 inputs and row of activations, part-major, so that a part's values lie side by side.
struct RowFacts {
  std::vector<int32_t> offsets;    // what the integer sum has too much; for Q6_K the sums of both halves as int16
  std::vector<float> scaled_sums;  // xscale * f32(sum)
  std::vector<float> scales;
};

int32_t side_by_side(int32_t low, int32_t high) {
  return static_cast<int32_t>((static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high) << 16);
}

RowFacts prepare(const PanelFormat& format, uint64_t cols, const QuantizedRows& x) {
  const uint64_t parts = cols / kPartCols;
  // The integer kernel reads 8-bit codes as code - 128, to fit vpmaddubsw.
  const int32_t offset = format.zero_point - (format.bits == 8 ? 128 : 0);
  RowFacts facts{.offsets = std::vector<int32_t>(parts * x.tokens),
                 .scaled_sums = std::vector<float>(parts * x.tokens),
                 .scales = std::vector<float>(parts * x.tokens)};
  for (uint64_t part = 0, to = 0; part < parts; ++part)
    for (uint32_t row = 0; row < x.tokens; ++row, ++to) {
      const uint64_t from = row * parts + part;
      facts.scales[to] = x.scales[from];
      facts.scaled_sums[to] = x.scales[from] * static_cast<float>(x.sums[from]);
      facts.offsets[to] = format.kind == PanelKind::kQ6_K
                              ? side_by_side(x.half_sums[2 * from], x.half_sums[2 * from + 1])
                              : offset * x.sums[from];
    }
  return facts;
}

struct Stream {
  const PanelMatrix& w;
  const int8_t* codes;  // [rows, K]
  const RowFacts& facts;
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

template <int kRows>
struct Results {
  __m256 of[2][kRows];  // [half of the panel's rows][row of activations]
};
template <int kRows>
struct Sums {
  __m256i of[2][kRows];
};

// int16 sums of kSafeQuads quads from `first`, folded into int32 by vpmaddwd with the factors of each half.
template <int kBits, int kRows>
MOTLEY_INLINE void add_quads(const Stream& stream, const std::byte* chunk, const int8_t* x, int first, __m256i factors0,
                             __m256i factors1, Sums<kRows>& sums) {
  Sums<kRows> run;
  MOTLEY_UNROLL
  for (int q = 0; q < kSafeQuads<kBits>; ++q) {
    const __m256i w0 = quad_codes<kBits>(chunk, first + q), w1 = quad_codes<kBits>(chunk + 32, first + q);
    MOTLEY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m256i four = broadcast4(x + static_cast<size_t>(r) * stream.w.cols + 4 * (first + q));
      const __m256i p0 = pair_sums<kBits>(w0, four), p1 = pair_sums<kBits>(w1, four);
      run.of[0][r] = q == 0 ? p0 : add_in_order(run.of[0][r], p0);
      run.of[1][r] = q == 0 ? p1 : add_in_order(run.of[1][r], p1);
    }
  }
  MOTLEY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    sums.of[0][r] = _mm256_add_epi32(sums.of[0][r], _mm256_madd_epi16(run.of[0][r], factors0));
    sums.of[1][r] = _mm256_add_epi32(sums.of[1][r], _mm256_madd_epi16(run.of[1][r], factors1));
  }
}

template <int kRows>
MOTLEY_INLINE void clear(Sums<kRows>& sums) {
  MOTLEY_UNROLL
  for (int r = 0; r < kRows; ++r) sums.of[0][r] = sums.of[1][r] = _mm256_setzero_si256();
}

template <int kRows>
MOTLEY_INLINE void scale(const Sums<kRows>& sums, const __m256 (&scales)[2], const float* xscales, Results<kRows>& y) {
  MOTLEY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const __m256 xscale = _mm256_set1_ps(xscales[r]);
    MOTLEY_UNROLL
    for (int half = 0; half < 2; ++half)
      y.of[half][r] =
          _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums.of[half][r]), scales[half]), xscale, y.of[half][r]);
  }
}

// One panel of an integer format; scales and biases of `kDType`.
template <int kBits, int kRows, DType kDType, bool kBiased>
void integer_panel(const Stream& stream, const std::byte* panel, Results<kRows>& y) {
  const IntegerBlock layout = integer_block(stream.w.format);
  const __m256i ones = _mm256_set1_epi16(1);
  const int8_t* x = stream.codes;
  uint64_t fact = 0;
  for (const std::byte* const end = panel + panel_bytes(stream.w.format, stream.w.cols); panel < end;
       panel += layout.bytes) {
    const __m256 scales[2] = {load_floats(kDType, panel + layout.scales_at, 0),
                              load_floats(kDType, panel + layout.scales_at, 1)};
    for (const std::byte* chunk = panel; chunk < panel + layout.scales_at;
         chunk += chunk_bytes(kBits), x += kPartCols, fact += kRows) {
      Sums<kRows> sums;
      clear(sums);
      MOTLEY_UNROLL
      for (int first = 0; first < static_cast<int>(kQuadsPerChunk); first += kSafeQuads<kBits>)
        add_quads<kBits>(stream, chunk, x, first, ones, ones, sums);
      if constexpr (!kBiased || kBits == 8) {
        MOTLEY_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const __m256i offset = _mm256_set1_epi32(stream.facts.offsets[fact + static_cast<size_t>(r)]);
          sums.of[0][r] = _mm256_sub_epi32(sums.of[0][r], offset);
          sums.of[1][r] = _mm256_sub_epi32(sums.of[1][r], offset);
        }
      }
      scale(sums, scales, &stream.facts.scales[fact], y);
      if constexpr (kBiased) {
        MOTLEY_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const __m256 sum = _mm256_set1_ps(stream.facts.scaled_sums[fact + static_cast<size_t>(r)]);
          y.of[0][r] = _mm256_fmadd_ps(load_floats(kDType, panel + layout.biases_at, 0), sum, y.of[0][r]);
          y.of[1][r] = _mm256_fmadd_ps(load_floats(kDType, panel + layout.biases_at, 1), sum, y.of[1][r]);
        }
      }
    }
  }
}

// The int8 scales of a group for 8 rows, each as two int16 side by side: factors of vpmaddwd.
MOTLEY_INLINE __m256i twice(__m128i scales16) {
  return _mm256_set_m128i(_mm_unpackhi_epi16(scales16, scales16), _mm_unpacklo_epi16(scales16, scales16));
}
MOTLEY_INLINE __m256i paired(__m128i first16, __m128i second16) {
  return _mm256_set_m128i(_mm_unpackhi_epi16(first16, second16), _mm_unpacklo_epi16(first16, second16));
}

template <int kRows>
void super_panel(const Stream& stream, const std::byte* panel, Results<kRows>& y) {
  const int8_t* x = stream.codes;
  uint64_t fact = 0;
  for (const std::byte* const end = panel + panel_bytes(stream.w.format, stream.w.cols); panel < end;
       panel += kSuperBytes) {
    const __m256 scales[2] = {load_f16x8(panel + kSuperScaleAt), load_f16x8(panel + kSuperScaleAt + 16)};
    const std::byte* group_scales = panel + kSuperScalesAt;
    for (const std::byte* chunk = panel; chunk < panel + kSuperScalesAt;
         chunk += chunk_bytes(6), group_scales += 2 * kPanelRows, x += kPartCols, fact += kRows) {
      const auto scales16 = [&](uint32_t at) {
        return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(group_scales + at)));
      };
      const __m128i g0[2] = {scales16(0), scales16(8)}, g1[2] = {scales16(16), scales16(24)};
      Sums<kRows> sums;
      clear(sums);
      MOTLEY_UNROLL
      for (int first = 0; first < static_cast<int>(kQuadsPerChunk); first += kSafeQuads<6>) {
        const __m128i* group = first < 4 ? g0 : g1;
        add_quads<6>(stream, chunk, x, first, twice(group[0]), twice(group[1]), sums);
      }
      MOTLEY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const __m256i halves = _mm256_set1_epi32(stream.facts.offsets[fact + static_cast<size_t>(r)]);
        MOTLEY_UNROLL
        for (int half = 0; half < 2; ++half) {
          const __m256i product = _mm256_madd_epi16(paired(g0[half], g1[half]), halves);
          sums.of[half][r] = _mm256_sub_epi32(sums.of[half][r], _mm256_slli_epi32(product, 5));
        }
      }
      scale(sums, scales, &stream.facts.scales[fact], y);
    }
  }
}

template <int kRows, auto kPanel>
void run_panels(const Stream& stream, PanelRange panels, const OutputRows& out) {
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel) {
    Results<kRows> y;
    for (int r = 0; r < kRows; ++r) y.of[0][r] = y.of[1][r] = _mm256_setzero_ps();
    kPanel(stream, stream.w.panel(panel), y);
    const uint64_t row = panel * kPanelRows, rows = stream.w.rows - row < kPanelRows ? stream.w.rows - row : kPanelRows;
    for (int r = 0; r < kRows; ++r) {
      alignas(32) float values[kPanelRows];
      _mm256_store_ps(values, y.of[0][r]);
      _mm256_store_ps(values + 8, y.of[1][r]);
      std::memcpy(out.data + static_cast<size_t>(r) * out.stride + row, values, rows * sizeof(float));
    }
  }
}

}  // namespace
MOTLEY_TARGET_END

namespace {

using RunFunction = void (*)(const Stream&, PanelRange, const OutputRows&);

template <int kBits, int kRows, DType kDType>
RunFunction with_offset(PanelFormat::Offset offset) {
  return offset == PanelFormat::Offset::kBiases ? run_panels<kRows, integer_panel<kBits, kRows, kDType, true>>
                                                : run_panels<kRows, integer_panel<kBits, kRows, kDType, false>>;
}

template <int kBits, int kRows>
RunFunction with_dtype(const PanelFormat& format) {
  if (format.dtype == DType::kF16) return with_offset<kBits, kRows, DType::kF16>(format.offset);
  if (format.dtype == DType::kBF16) return with_offset<kBits, kRows, DType::kBF16>(format.offset);
  return with_offset<kBits, kRows, DType::kF32>(format.offset);
}

template <int kRows>
RunFunction with_rows(const PanelFormat& format) {
  if (format.kind == PanelKind::kQ6_K) return run_panels<kRows, super_panel<kRows>>;
  switch (format.bits) {
    case 2:
      return with_dtype<2, kRows>(format);
    case 3:
      return with_dtype<3, kRows>(format);
    case 4:
      return with_dtype<4, kRows>(format);
    case 5:
      return with_dtype<5, kRows>(format);
    case 6:
      return with_dtype<6, kRows>(format);
    default:
      return with_dtype<8, kRows>(format);
  }
}

}  // namespace

void matmul_stream(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  const RowFacts facts = prepare(w.format, w.cols, x);
  const Stream stream{.w = w, .codes = x.codes, .facts = facts};
  const RunFunction run = x.tokens == 1 ? with_rows<1>(w.format) : with_rows<2>(w.format);
  run(stream, panels, y);
}

}  // namespace motley::kernels::avx2
#endif
