// Integer matmul with AVX2 for a single token: each panel is read once, front to back, with the results of its 16 rows
// in registers. Codes stay bytes: both int8 planes of the activations meet them by vpmaddubsw, as many int16 sums as
// the bit width allows, then vpmaddwd. What depends on the activations alone is computed once for all panels. Same bits
// as x86_avx2_matmul_fast.cc, which serves more tokens.
#if defined(__x86_64__)
#include <vector>

#include "kernels/int8_planes.h"
#include "kernels/x86_avx2_codes.h"

namespace motley::kernels::avx2 {
namespace {

constexpr uint32_t kPartCols = kChunkCols;  // inputs that share one activation scale

// The single token.
struct Stream {
  const PanelMatrix& w;
  std::vector<int8_t> planes;      // [kPlanes][K]
  std::vector<int32_t> offsets;    // of each part: what the integer sum has too much
  std::vector<float> scaled_sums;  // of each part: xscale * f32(sum)
  const float* scales = nullptr;   // of each part
  const int32_t* half_sums = nullptr;
};

Stream prepare(const PanelMatrix& w, const QuantizedRows& x) {
  const uint64_t parts = w.cols / kPartCols;
  // The integer kernel reads 8-bit codes as code - 128, to fit vpmaddubsw.
  const int32_t offset = w.format.zero_point - (w.format.bits == 8 ? 128 : 0);
  Stream stream{.w = w,
                .planes = int8_planes(x, w.cols),
                .offsets = std::vector<int32_t>(parts),
                .scaled_sums = std::vector<float>(parts),
                .scales = x.scales,
                .half_sums = x.half_sums};
  for (uint64_t part = 0; part < parts; ++part) {
    stream.offsets[part] = offset * x.sums[part];
    stream.scaled_sums[part] = x.scales[part] * static_cast<float>(x.sums[part]);
  }
  return stream;
}

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

// The 16 rows' results, and the sums of both planes, low rows first.
struct Results {
  __m256 of[2];
};
struct Sums {
  __m256i of[2][kPlanes];
};

// int16 sums of kSafeQuads quads from `first`, folded into int32 by vpmaddwd with the factors of each half.
template <int kBits>
MOTLEY_INLINE void add_quads(const Stream& stream, const std::byte* chunk, const int8_t* x, int first, __m256i factors0,
                             __m256i factors1, Sums& sums) {
  Sums run;
  MOTLEY_UNROLL
  for (int q = 0; q < kSafeQuads<kBits>; ++q) {
    const __m256i w0 = quad_codes<kBits>(chunk, first + q), w1 = quad_codes<kBits>(chunk + 32, first + q);
    MOTLEY_UNROLL
    for (int plane = 0; plane < static_cast<int>(kPlanes); ++plane) {
      const __m256i four = broadcast4(x + static_cast<size_t>(plane) * stream.w.cols + 4 * (first + q));
      const __m256i p0 = pair_sums<kBits>(w0, four), p1 = pair_sums<kBits>(w1, four);
      run.of[0][plane] = q == 0 ? p0 : add_in_order(run.of[0][plane], p0);
      run.of[1][plane] = q == 0 ? p1 : add_in_order(run.of[1][plane], p1);
    }
  }
  MOTLEY_UNROLL
  for (int plane = 0; plane < static_cast<int>(kPlanes); ++plane) {
    sums.of[0][plane] = _mm256_add_epi32(sums.of[0][plane], _mm256_madd_epi16(run.of[0][plane], factors0));
    sums.of[1][plane] = _mm256_add_epi32(sums.of[1][plane], _mm256_madd_epi16(run.of[1][plane], factors1));
  }
}

MOTLEY_INLINE void clear(Sums& sums) {
  MOTLEY_UNROLL
  for (int plane = 0; plane < static_cast<int>(kPlanes); ++plane)
    sums.of[0][plane] = sums.of[1][plane] = _mm256_setzero_si256();
}

// Both planes' sums of one half of the rows, less `excess`.
MOTLEY_INLINE __m256i joined(const Sums& sums, int half, __m256i excess) {
  return _mm256_sub_epi32(_mm256_add_epi32(_mm256_slli_epi32(sums.of[half][0], kPlaneShift), sums.of[half][1]), excess);
}

// y = fma(f32(i) * scale, xscale, y).
MOTLEY_INLINE __m256 add_scaled(__m256i sum, __m256 scale, float xscale, __m256 y) {
  return _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale), _mm256_set1_ps(xscale), y);
}

// One panel of an integer format; scales and biases of `kDType`.
template <int kBits, DType kDType, bool kBiased>
void integer_panel(const Stream& stream, const std::byte* panel, Results& y) {
  const IntegerBlock layout = integer_block(stream.w.format);
  const __m256i ones = _mm256_set1_epi16(1);
  const int8_t* x = stream.planes.data();
  uint64_t part = 0;
  for (const std::byte* const end = panel + panel_bytes(stream.w.format, stream.w.cols); panel < end;
       panel += layout.bytes) {
    const __m256 scales[2] = {load_floats(kDType, panel + layout.scales_at, 0),
                              load_floats(kDType, panel + layout.scales_at, 1)};
    for (const std::byte* chunk = panel; chunk < panel + layout.scales_at;
         chunk += chunk_bytes(kBits), x += kPartCols, ++part) {
      Sums sums;
      clear(sums);
      MOTLEY_UNROLL
      for (int first = 0; first < static_cast<int>(kQuadsPerChunk); first += kSafeQuads<kBits>)
        add_quads<kBits>(stream, chunk, x, first, ones, ones, sums);
      const bool offset = !kBiased || kBits == 8;
      const __m256i excess = offset ? _mm256_set1_epi32(stream.offsets[part]) : _mm256_setzero_si256();
      MOTLEY_UNROLL
      for (int half = 0; half < 2; ++half) {
        y.of[half] = add_scaled(joined(sums, half, excess), scales[half], stream.scales[part], y.of[half]);
        if constexpr (kBiased)
          y.of[half] = _mm256_fmadd_ps(load_floats(kDType, panel + layout.biases_at, static_cast<uint32_t>(half)),
                                       _mm256_set1_ps(stream.scaled_sums[part]), y.of[half]);
      }
    }
  }
}

void super_panel(const Stream& stream, const std::byte* panel, Results& y) {
  const int8_t* x = stream.planes.data();
  uint64_t part = 0;
  for (const std::byte* const end = panel + panel_bytes(stream.w.format, stream.w.cols); panel < end;
       panel += kSuperBytes) {
    const __m256 scales[2] = {load_f16x8(panel + kSuperScaleAt), load_f16x8(panel + kSuperScaleAt + 16)};
    const std::byte* group_scales = panel + kSuperScalesAt;
    for (const std::byte* chunk = panel; chunk < panel + kSuperScalesAt;
         chunk += chunk_bytes(6), group_scales += 2 * kPanelRows, x += kPartCols, ++part) {
      const auto scales16 = [&](uint32_t at) {
        return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(group_scales + at)));
      };
      const __m128i g0[2] = {scales16(0), scales16(8)}, g1[2] = {scales16(16), scales16(24)};
      Sums sums;
      clear(sums);
      MOTLEY_UNROLL
      for (int first = 0; first < static_cast<int>(kQuadsPerChunk); first += kSafeQuads<6>) {
        const __m128i* group = first < 4 ? g0 : g1;
        add_quads<6>(stream, chunk, x, first, twice(group[0]), twice(group[1]), sums);
      }
      // The codes are 32 too high: 32 * (s0 * h0 + s1 * h1).
      const __m256i h0 = _mm256_set1_epi32(32 * stream.half_sums[2 * part]);
      const __m256i h1 = _mm256_set1_epi32(32 * stream.half_sums[2 * part + 1]);
      MOTLEY_UNROLL
      for (int half = 0; half < 2; ++half) {
        const __m256i excess = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_cvtepi16_epi32(g0[half]), h0),
                                                _mm256_mullo_epi32(_mm256_cvtepi16_epi32(g1[half]), h1));
        y.of[half] = add_scaled(joined(sums, half, excess), scales[half], stream.scales[part], y.of[half]);
      }
    }
  }
}

template <auto kPanel>
void run_panels(const Stream& stream, PanelRange panels, const OutputRows& out) {
  for (uint64_t panel = panels.begin; panel < panels.end; ++panel) {
    Results y{{_mm256_setzero_ps(), _mm256_setzero_ps()}};
    kPanel(stream, stream.w.panel(panel), y);
    const uint64_t row = panel * kPanelRows, rows = stream.w.rows - row < kPanelRows ? stream.w.rows - row : kPanelRows;
    alignas(32) float values[kPanelRows];
    _mm256_store_ps(values, y.of[0]);
    _mm256_store_ps(values + 8, y.of[1]);
    std::memcpy(out.data + row, values, rows * sizeof(float));
  }
}

}  // namespace
MOTLEY_TARGET_END

namespace {

using RunFunction = void (*)(const Stream&, PanelRange, const OutputRows&);

template <int kBits, DType kDType>
RunFunction with_offset(PanelFormat::Offset offset) {
  return offset == PanelFormat::Offset::kBiases ? run_panels<integer_panel<kBits, kDType, true>>
                                                : run_panels<integer_panel<kBits, kDType, false>>;
}

template <int kBits>
RunFunction with_dtype(const PanelFormat& format) {
  if (format.dtype == DType::kF16) return with_offset<kBits, DType::kF16>(format.offset);
  if (format.dtype == DType::kBF16) return with_offset<kBits, DType::kBF16>(format.offset);
  return with_offset<kBits, DType::kF32>(format.offset);
}

RunFunction run_of(const PanelFormat& format) {
  if (format.kind == PanelKind::kQ6_K) return run_panels<super_panel>;
  switch (format.bits) {
    case 2:
      return with_dtype<2>(format);
    case 3:
      return with_dtype<3>(format);
    case 4:
      return with_dtype<4>(format);
    case 5:
      return with_dtype<5>(format);
    case 6:
      return with_dtype<6>(format);
    default:
      return with_dtype<8>(format);
  }
}

}  // namespace

void matmul_stream(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) {
  run_of(w.format)(prepare(w, x), panels, y);
}

}  // namespace motley::kernels::avx2
#endif
