// Decoders and encoders against what gguf-py and mlx made of the same numbers
// (tests/oracle/quant/make_quant_fixtures.py).
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "quant/stored_matrix.h"

namespace motley::quant {
namespace {

using tensor::DType;
using tensor::StorageKind;

constexpr uint64_t kRows = 3;

struct Fixture {
  std::vector<std::byte> values, codes, scales, offsets, decoded;
};

std::vector<std::byte> read_section(std::istream& file) {
  uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof(size));
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  EXPECT_TRUE(file.good());
  return bytes;
}

Fixture read_fixture(const std::string& name) {
  std::ifstream file("tests/data/quant/" + name + ".bin", std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  Fixture fixture;
  for (auto* part : {&fixture.values, &fixture.codes, &fixture.scales, &fixture.offsets, &fixture.decoded})
    *part = read_section(file);
  return fixture;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

struct Case {
  std::string name;
  StorageFormat format;
};

StorageFormat gguf(StorageKind kind) { return {.kind = kind, .bits = 0, .group_size = 0, .scale_dtype = DType::kF32}; }

std::vector<Case> all_cases() {
  std::vector<Case> cases = {{"q4_0", gguf(StorageKind::kQ4_0)},
                             {"q4_1", gguf(StorageKind::kQ4_1)},
                             {"q8_0", gguf(StorageKind::kQ8_0)},
                             {"q6_k", gguf(StorageKind::kQ6_K)}};
  for (int bits : {2, 3, 4, 5, 6, 8})
    for (int group : {32, 64, 128})
      for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
        cases.push_back(
            {"mlx_" + std::to_string(bits) + "bit_g" + std::to_string(group) + "_" + std::string(tensor::name(dtype)),
             {.kind = StorageKind::kMlxAffine,
              .bits = static_cast<uint8_t>(bits),
              .group_size = static_cast<uint32_t>(group),
              .scale_dtype = dtype}});
  return cases;
}

class QuantTest : public ::testing::TestWithParam<Case> {};

TEST_P(QuantTest, DecodesToTheReferencesNumbers) {
  const Fixture fixture = read_fixture(GetParam().name);
  const std::vector<float> expected = floats(fixture.decoded);
  const uint64_t cols = expected.size() / kRows;
  const StoredMatrix matrix{GetParam().format, kRows, cols, fixture.codes, fixture.scales, fixture.offsets};
  const RowBytes bytes = row_bytes(GetParam().format, cols, "fixture").value();
  ASSERT_EQ(bytes.codes * kRows, fixture.codes.size());
  ASSERT_EQ(bytes.scales * kRows, fixture.scales.size());
  ASSERT_EQ(bytes.offsets * kRows, fixture.offsets.size());
  std::vector<float> got(cols);
  for (uint64_t row = 0; row < kRows; ++row) {
    decode_row(matrix, row, 0, got);
    EXPECT_EQ(0, std::memcmp(got.data(), &expected[row * cols], cols * sizeof(float))) << "row " << row;
  }
}

TEST_P(QuantTest, EncodesToTheReferencesBytes) {
  const Fixture fixture = read_fixture(GetParam().name);
  const std::vector<float> values = fixture.values.empty() ? floats(fixture.decoded) : floats(fixture.values);
  const EncodedMatrix got = encode(GetParam().format, kRows, values.size() / kRows, values).value();
  if (fixture.values.empty()) {
    // gguf-py has no encoder of Q6_K: what ours makes of decoded weights must lie within half a step of them.
    std::vector<float> decoded(got.cols);
    for (uint64_t row = 0; row < kRows; ++row) {
      decode_row(got.view(), row, 0, decoded);
      for (uint64_t first = 0; first < got.cols; first += 256) {
        float largest = 0;
        for (uint64_t k = first; k < first + 256; ++k)
          largest = std::max(largest, std::fabs(values[row * got.cols + k]));
        // A group's step is its largest magnitude / 31, rounded up to a multiple of 1/127 of the block's largest step.
        const float half_step = largest / 31 * (1 + 1.0f / 127) * 0.51f;
        for (uint64_t k = first; k < first + 256; ++k)
          EXPECT_NEAR(decoded[k], values[row * got.cols + k], half_step) << k;
      }
    }
    return;
  }
  EXPECT_EQ(got.codes, fixture.codes);
  EXPECT_EQ(got.scales, fixture.scales);
  EXPECT_EQ(got.offsets, fixture.offsets);
}

// "MLX mxfp4" -> "MLX_mxfp4".
std::string format_file(const StorageFormat& format) {
  return absl::StrReplaceAll(tensor::describe(format), {{" ", "_"}});
}

class ReadOnlyFormatTest : public ::testing::TestWithParam<tensor::StorageKind> {};

// Random blocks, every third with an extreme scale; whole rows, and from the middle.
TEST_P(ReadOnlyFormatTest, DecodesToTheReferencesNumbers) {
  const StorageFormat format = gguf(GetParam());
  const Fixture fixture = read_fixture(absl::AsciiStrToLower(format_file(format)));
  const std::vector<float> expected = floats(fixture.decoded);
  const uint64_t cols = expected.size() / kRows;
  const RowBytes bytes = row_bytes(format, cols, "fixture").value();
  ASSERT_EQ(bytes.codes * kRows, fixture.codes.size());
  const StoredMatrix matrix{.format = format, .rows = kRows, .cols = cols, .codes = fixture.codes};
  std::vector<float> got(cols);
  for (uint64_t row = 0; row < kRows; ++row)
    for (uint64_t first = 0; first < cols; first += 128) {
      decode_row(matrix, row, first, std::span(got).first(cols - first));
      EXPECT_EQ(0, std::memcmp(got.data(), &expected[row * cols + first], (cols - first) * sizeof(float)))
          << "row " << row << " from " << first;
    }
}

TEST_P(ReadOnlyFormatTest, CannotBeWritten) {
  const auto encoded = encode(gguf(GetParam()), 1, 256, std::vector<float>(256));
  const bool written = GetParam() == StorageKind::kQ4_K;  // by a rule of our own, so no fixture has its bytes
  EXPECT_EQ(rejection_site(encoded.status()), written ? "" : "quant.read_only");
}

// What Q4_K is written as stays within half a step of its group, and the rounding of its minimum and of f16.
TEST(Q4K, IsWrittenToTheNearestCode) {
  std::vector<float> values(2 * 256), got(256);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(0.37f * static_cast<float>(i)) * static_cast<float>(1 + i / 32) - (i < 256 ? 0.0f : 3.0f);
  const EncodedMatrix matrix = encode(gguf(StorageKind::kQ4_K), 2, 256, values).value();
  for (uint64_t row = 0; row < 2; ++row) {
    const std::span<const float> block = std::span(values).subspan(256 * row, 256);
    decode_row(matrix.view(), row, 0, got);
    const float largest = std::fabs(
        *std::max_element(block.begin(), block.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
    for (size_t group = 0; group < 8; ++group) {
      const auto part = block.subspan(32 * group, 32);
      const auto [low, high] = std::minmax_element(part.begin(), part.end());
      const float range = *high - std::min(*low, 0.0f);
      for (size_t i = 32 * group; i < 32 * (group + 1); ++i)
        EXPECT_LE(std::fabs(got[i] - block[i]), range / 30 + largest / 63) << row << ", " << i;
    }
  }
  const EncodedMatrix zeros = encode(gguf(StorageKind::kQ4_K), 1, 256, std::vector<float>(256)).value();
  decode_row(zeros.view(), 0, 0, got);
  EXPECT_EQ(got, std::vector<float>(256));
}

std::string format_name(const ::testing::TestParamInfo<StorageKind>& info) { return format_file(gguf(info.param)); }
INSTANTIATE_TEST_SUITE_P(Fixtures, ReadOnlyFormatTest,
                         ::testing::Values(StorageKind::kQ5_0, StorageKind::kQ5_1, StorageKind::kQ2_K,
                                           StorageKind::kQ3_K, StorageKind::kQ4_K, StorageKind::kQ5_K,
                                           StorageKind::kIQ4_NL, StorageKind::kIQ4_XS, StorageKind::kIQ2_XXS,
                                           StorageKind::kIQ2_XS, StorageKind::kIQ2_S, StorageKind::kIQ3_XXS,
                                           StorageKind::kIQ3_S, StorageKind::kIQ1_S, StorageKind::kIQ1_M,
                                           StorageKind::kTQ1_0, StorageKind::kTQ2_0, StorageKind::kMXFP4,
                                           StorageKind::kNVFP4, StorageKind::kQ1_0, StorageKind::kQ2_0),
                         format_name);

// decode_row is scale and offset applied to decode_codes, so that both readings of a row agree.
TEST_P(QuantTest, CodesLieInTheirRange) {
  const Fixture fixture = read_fixture(GetParam().name);
  const uint64_t cols = floats(fixture.decoded).size() / kRows;
  const StoredMatrix matrix{GetParam().format, kRows, cols, fixture.codes, fixture.scales, fixture.offsets};
  ASSERT_TRUE(has_codes(GetParam().format));
  std::vector<uint8_t> codes(cols);
  uint32_t largest = 0;
  for (uint64_t row = 0; row < kRows; ++row) {
    decode_codes(matrix, row, codes);
    for (uint8_t code : codes) largest = std::max<uint32_t>(largest, code);
  }
  const StorageKind kind = GetParam().format.kind;
  const uint32_t bits = kind == StorageKind::kMlxAffine ? GetParam().format.bits
                        : kind == StorageKind::kQ8_0    ? 8
                        : kind == StorageKind::kQ6_K    ? 6
                                                        : 4;
  EXPECT_LT(largest, 1u << bits);
  EXPECT_GT(largest, (1u << bits) / 2);
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Fixtures, QuantTest, ::testing::ValuesIn(all_cases()), case_name);

TEST(QuantFloats, RoundTripWhatTheirTypeHolds) {
  const std::vector<float> values = {1, -2.5f, 0x1p-14f, 65504, -0.0f, 0x1p-24f};
  for (StorageKind kind : {StorageKind::kF32, StorageKind::kF16}) {
    const EncodedMatrix matrix = encode(gguf(kind), 2, 3, values).value();
    std::vector<float> got(3);
    for (uint64_t row = 0; row < 2; ++row) {
      decode_row(matrix.view(), row, 0, got);
      for (size_t k = 0; k < 3; ++k)  // the sign of zero counts
        EXPECT_EQ(std::bit_cast<uint32_t>(got[k]), std::bit_cast<uint32_t>(values[3 * row + k]));
    }
  }
  EXPECT_FALSE(has_codes(gguf(StorageKind::kBF16)));
}

struct Refusal {
  StorageFormat format;
  uint64_t cols;
  std::string_view site;
};

StorageFormat mlx(int bits, int group, DType dtype) {
  return {.kind = StorageKind::kMlxAffine,
          .bits = static_cast<uint8_t>(bits),
          .group_size = static_cast<uint32_t>(group),
          .scale_dtype = dtype};
}

TEST(RowBytes, RefusesWhatNoFormatHolds) {
  const Refusal refusals[] = {{gguf(StorageKind::kF32), 0, "quant.empty_row"},
                              {gguf(StorageKind::kQ4_0), 48, "quant.row_geometry"},
                              {gguf(StorageKind::kQ6_K), 576, "quant.row_geometry"},
                              {mlx(4, 64, DType::kF16), 96, "quant.row_geometry"},
                              {mlx(7, 64, DType::kF16), 64, "quant.bits"},
                              {mlx(1, 64, DType::kF16), 64, "quant.bits"},
                              {mlx(4, 16, DType::kF16), 64, "quant.group_size"},
                              {mlx(4, 0, DType::kF16), 64, "quant.group_size"},
                              {mlx(4, 64, DType::kU8), 64, "quant.scale_dtype"},
                              {gguf(StorageKind::kF32), uint64_t{1} << 61, "quant.row_bytes"},
                              {gguf(StorageKind::kF32), uint64_t{1} << 63, "quant.row_bytes"},
                              {mlx(8, 32, DType::kF32), uint64_t{1} << 63, "quant.row_bytes"}};
  for (const Refusal& refusal : refusals) {
    const auto bytes = row_bytes(refusal.format, refusal.cols, "tensor");
    ASSERT_FALSE(bytes.ok()) << refusal.site;
    EXPECT_EQ(rejection_site(bytes.status()), refusal.site);
  }
}

TEST(RowBytes, CountsEveryPart) {
  const RowBytes q4_1 = row_bytes(gguf(StorageKind::kQ4_1), 576, "t").value();
  EXPECT_EQ(q4_1.codes, 576u / 32 * 20);
  EXPECT_EQ(q4_1.total(), q4_1.codes);
  const RowBytes three = row_bytes(mlx(3, 64, DType::kBF16), 256, "t").value();
  EXPECT_EQ(three.codes, 96u);
  EXPECT_EQ(three.scales, 8u);
  EXPECT_EQ(three.offsets, 8u);
}

}  // namespace
}  // namespace motley::quant
