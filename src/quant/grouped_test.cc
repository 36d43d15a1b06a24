// Grouped formats against what their own software packed or decoded (tests/oracle/quant/make_grouped_fixtures.py).
#include <cmath>
#include <cstring>
#include <fstream>

#include "gtest/gtest.h"
#include "quant/stored_matrix.h"

namespace motley::quant {
namespace {

using enum tensor::CodeOrder;
using enum tensor::CodeValue;
using tensor::CodeOrder;
using tensor::CodeValue;
using tensor::DType;
using tensor::GridOrder;
using tensor::Grouping;
using tensor::OffsetKind;
using tensor::OffsetOrder;
using tensor::ScaleRule;

struct Case {
  std::string name;
  uint64_t rows, cols;
  StorageFormat format;
};

// A format of `bits` in groups of `size`; `change` sets what the format has beyond plain rows.
template <typename Change>
StorageFormat grouped(int bits, uint32_t size, DType scales, Change change) {
  StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                       .bits = static_cast<uint8_t>(bits),
                       .group_size = size,
                       .scale_dtype = scales};
  change(format.grouping);
  return format;
}

std::vector<Case> word_cases() {
  std::vector<Case> cases;
  for (const int bits : {2, 3, 4, 8})
    for (const int version : {1, 2})
      cases.push_back({"gptq_" + std::to_string(bits) + "bit_v" + std::to_string(version), 32, 64,
                       grouped(bits, 32, DType::kF16, [&](Grouping& grouping) {
                         grouping.order = kColumns;
                         grouping.grid = GridOrder::kColumnMajor;
                         grouping.offset = OffsetKind::kZeroPoints;
                         grouping.offset_order = version == 1 ? OffsetOrder::kGptqV1 : OffsetOrder::kGptqV2;
                       })});
  cases.push_back({"awq_gemm", 16, 64, grouped(4, 32, DType::kF16, [](Grouping& grouping) {
                     grouping.order = kAwqGemm;
                     grouping.grid = GridOrder::kColumnMajor;
                     grouping.offset = OffsetKind::kZeroPoints;
                     grouping.offset_order = OffsetOrder::kAwqGemm;
                   })});
  cases.push_back({"awq_gemv", 8, 128, grouped(4, 64, DType::kF16, [](Grouping& grouping) {
                     grouping.order = kWordRows;
                     grouping.padded_groups = 16;
                     grouping.offset = OffsetKind::kZeroPoints;
                     grouping.offset_order = OffsetOrder::kAwqGemv;
                   })});
  cases.push_back({"awq_gemv_fast", 8, 128, grouped(4, 32, DType::kF16, [](Grouping& grouping) {
                     grouping.order = kAwqGemvFast;
                     grouping.grid = GridOrder::kColumnMajor;
                     grouping.padded_groups = 32;
                     grouping.offset = OffsetKind::kBiases;
                     grouping.offset_dtype = DType::kF16;
                   })});
  return cases;
}

std::vector<Case> compressed_tensors_cases() {
  std::vector<Case> cases;
  for (const int bits : {2, 3, 4, 5, 6, 7, 8}) {
    const auto words = [&](CodeOrder order, OffsetKind offset) {
      return grouped(bits, 32, DType::kF16, [&](Grouping& grouping) {
        grouping.order = order;
        grouping.zero_point = static_cast<uint8_t>(1 << (bits - 1));
        grouping.offset = offset;
        grouping.offset_order = OffsetOrder::kPackedAlongN;
      });
    };
    const std::string name = "ct_" + std::to_string(bits) + "bit";
    cases.push_back({name, 8, 96, words(kWordRows, OffsetKind::kZeroPoint)});
    cases.push_back({name + "_zeros", 8, 96, words(kWordRows, OffsetKind::kZeroPoints)});
    if (32 % bits != 0) cases.push_back({name + "_whole", 8, 96, words(kWholeCodesRows, OffsetKind::kZeroPoint)});
  }
  return cases;
}

// The offset of the nested scales, as make_grouped_fixtures.py prints it.
StorageFormat bitsandbytes(CodeValue value, std::optional<float> nested_offset) {
  return grouped(4, 64, nested_offset ? DType::kU8 : DType::kF32, [&](Grouping& grouping) {
    grouping.value = value;
    grouping.order = kFlatHighFirst;
    grouping.grid = GridOrder::kFlat;
    if (!nested_offset) return;
    grouping.rule = ScaleRule::kNested;
    grouping.nested_group = 256;
    grouping.scale_offset = *nested_offset;
  });
}

StorageFormat e2m1(uint32_t group, DType scales, ScaleRule rule) {
  return grouped(4, group, scales, [&](Grouping& grouping) {
    grouping.value = kE2M1;
    grouping.rule = rule;
  });
}

StorageFormat whole_bytes(CodeValue value, uint32_t group_rows, uint32_t group_cols, ScaleRule rule = ScaleRule::kPlain,
                          OffsetKind offset = OffsetKind::kZeroPoint) {
  return grouped(8, group_cols, DType::kF32, [&](Grouping& grouping) {
    grouping.value = value;
    grouping.group_rows = group_rows;
    grouping.rule = rule;
    grouping.zero_point = 128;
    grouping.offset = offset;
    grouping.offset_dtype = DType::kI8;
  });
}

StorageFormat slices(int bits, CodeOrder order, OffsetKind offset, DType offset_dtype) {
  return grouped(bits, 32, DType::kF16, [&](Grouping& grouping) {
    grouping.order = order;
    grouping.grid = GridOrder::kFlat;
    grouping.offset = offset;
    grouping.offset_dtype = offset_dtype;
  });
}

std::vector<Case> slice_cases() {
  std::vector<Case> cases;
  for (const int bits : {1, 2, 3, 4, 8})
    cases.push_back({"hqq_" + std::to_string(bits) + "bit", 12, 64,
                     slices(bits, kSlicesHighFirst, OffsetKind::kZeros, DType::kF16)});
  for (const int bits : {2, 4}) {
    const std::string name = "quanto_" + std::to_string(bits) + "bit";
    cases.push_back({name, 12, 64, slices(bits, kSlicesLowFirst, OffsetKind::kShifts, DType::kF16)});
    cases.push_back({name + "_zeros", 12, 64, slices(bits, kSlicesLowFirst, OffsetKind::kZeroPoints, DType::kI8)});
  }
  return cases;
}

std::vector<Case> other_cases() {
  return {
      {"bnb_nf4", 7, 96, bitsandbytes(kNf4, {})},
      {"bnb_fp4", 7, 96, bitsandbytes(kBnbFp4, {})},
      {"bnb_nf4_nested", 7, 96, bitsandbytes(kNf4, 0x1.c76a02p+9f)},
      {"bnb_fp4_nested", 7, 96, bitsandbytes(kBnbFp4, 0x1.c75e2cp+9f)},
      {"bnb_int8", 7, 96, whole_bytes(kSigned, 1, 0, ScaleRule::kOver127)},
      {"modelopt_nvfp4", 8, 64, e2m1(16, DType::kF8E4M3, ScaleRule::kTimesOuter)},
      {"ct_nvfp4", 8, 64, e2m1(16, DType::kF8E4M3, ScaleRule::kOverOuter)},
      {"ct_mxfp4", 8, 64, e2m1(32, DType::kF8E8M0, ScaleRule::kPlain)},
      {"fp8_blocks", 20, 72, whole_bytes(kE4M3, 16, 32)},
      {"fp8_e5m2_rows", 20, 72, whole_bytes(kE5M2, 1, 0)},
      {"fp8_tensor", 20, 72, whole_bytes(kE4M3, 0, 0)},
      {"int8_rows", 20, 72, whole_bytes(kSigned, 1, 0, ScaleRule::kPlain, OffsetKind::kZeroPoints)},
      {"modelopt_int4", 8, 64,
       grouped(4, 32, DType::kF16,
               [](Grouping& grouping) {
                 grouping.value = kSigned;
                 grouping.order = kRowPairs;
                 grouping.zero_point = 8;
               })},
      {"torchao_int4", 8, 64,
       grouped(4, 32, DType::kF16,
               [](Grouping& grouping) {
                 grouping.value = kSigned;
                 grouping.grid = GridOrder::kColumnMajor;
                 grouping.offset = OffsetKind::kBiases;
                 grouping.offset_dtype = DType::kF16;
                 grouping.zero_point = 8;
               })},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* part : {word_cases, compressed_tensors_cases, slice_cases, other_cases})
    for (Case& row : part()) all.push_back(std::move(row));
  return all;
}

struct Fixture {
  std::vector<std::byte> codes, scales, offsets, outer_scales, scale_table, decoded;

  StoredMatrix matrix(const Case& row) const {
    return {row.format, row.rows, row.cols, codes, scales, offsets, outer_scales, scale_table};
  }
  std::vector<float> expected() const {
    std::vector<float> values(decoded.size() / sizeof(float));
    std::memcpy(values.data(), decoded.data(), decoded.size());
    return values;
  }
};

Fixture read_fixture(const std::string& name) {
  std::ifstream file("tests/data/quant/grouped_" + name + ".bin", std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  Fixture fixture;
  for (auto* part : {&fixture.codes, &fixture.scales, &fixture.offsets, &fixture.outer_scales, &fixture.scale_table,
                     &fixture.decoded}) {
    uint64_t size = 0;
    file.read(reinterpret_cast<char*>(&size), sizeof(size));
    part->resize(size);
    file.read(reinterpret_cast<char*>(part->data()), static_cast<std::streamsize>(size));
    EXPECT_TRUE(file.good()) << name;
  }
  return fixture;
}

class GroupedTest : public ::testing::TestWithParam<Case> {};

TEST_P(GroupedTest, CountsTheBytesOfEveryPart) {
  const Fixture fixture = read_fixture(GetParam().name);
  const PartBytes bytes = part_bytes(GetParam().format, GetParam().rows, GetParam().cols, "fixture").value();
  EXPECT_EQ(bytes.codes, fixture.codes.size());
  EXPECT_EQ(bytes.scales, fixture.scales.size());
  EXPECT_EQ(bytes.offsets, fixture.offsets.size());
  EXPECT_EQ(bytes.outer_scales, fixture.outer_scales.size());
  EXPECT_EQ(bytes.scale_table, fixture.scale_table.size());
}

TEST_P(GroupedTest, DecodesToTheReferencesNumbers) {
  const Fixture fixture = read_fixture(GetParam().name);
  const std::vector<float> expected = fixture.expected();
  const StoredMatrix matrix = fixture.matrix(GetParam());
  std::vector<float> got(matrix.cols);
  for (uint64_t row = 0; row < matrix.rows; ++row)
    for (const uint64_t first : {uint64_t{0}, matrix.cols / 64 * 32}) {  // and from the middle
      decode_row(matrix, row, first, std::span(got).first(matrix.cols - first));
      for (uint64_t k = first; k < matrix.cols; ++k)
        ASSERT_EQ(got[k - first], expected[row * matrix.cols + k]) << "row " << row << " input " << k;
    }
}

// Positions that an order moves hold what their input holds.
TEST_P(GroupedTest, FollowsAnOrderOfInputs) {
  const Fixture fixture = read_fixture(GetParam().name);
  StoredMatrix matrix = fixture.matrix(GetParam());
  std::vector<uint8_t> plain(matrix.cols), moved(matrix.cols);
  std::vector<uint32_t> order(matrix.cols);
  for (uint64_t k = 0; k < matrix.cols; ++k) order[k] = static_cast<uint32_t>((k * 29 + 5) % matrix.cols);
  decode_codes(matrix, 1, plain);
  matrix.input_order = order;
  decode_codes(matrix, 1, moved);
  for (uint64_t k = 0; k < matrix.cols; ++k) EXPECT_EQ(moved[k], plain[order[k]]) << k;
}

// Integers are exact, but for the table of NF4, and their product is rounded once more than the format's own.
constexpr double kRelativeTolerance = 1e-6;
constexpr double kNf4Tolerance = 1.0 / 4096;

TEST_P(GroupedTest, IntegersAreTheSameNumbers) {
  const Fixture fixture = read_fixture(GetParam().name);
  const std::vector<float> expected = fixture.expected();
  const StoredMatrix matrix = fixture.matrix(GetParam());
  const CodeValue value = matrix.format.grouping.value;
  const IntegerForm form = integer_form(matrix.format, matrix.cols);
  EXPECT_EQ(form == IntegerForm::kNone, value == kE4M3 || value == kE5M2 || matrix.cols % kIntegerRun != 0);
  if (form == IntegerForm::kNone) return;
  std::vector<int16_t> integers(matrix.cols);
  std::vector<float> scales(matrix.cols / kIntegerRun), biases(scales.size());
  for (uint64_t row = 0; row < matrix.rows; ++row) {
    decode_integers(matrix, row, 0, integers, scales, biases);
    for (uint64_t k = 0; k < matrix.cols; ++k) {
      const double scale = scales[k / kIntegerRun], bias = biases[k / kIntegerRun];
      EXPECT_LE(std::abs(integers[k]), 4096);
      EXPECT_TRUE(form == IntegerForm::kBiased || bias == 0);
      const double product = scale * integers[k];
      const double tolerance = value == kNf4 ? std::fabs(scale) * 4096 * kNf4Tolerance
                                             : (std::fabs(product) + std::fabs(bias)) * kRelativeTolerance;
      EXPECT_NEAR(product + bias, expected[row * matrix.cols + k], tolerance + 0x1p-149) << row << " " << k;
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Fixtures, GroupedTest, ::testing::ValuesIn(all_cases()), case_name);

struct Refusal {
  StorageFormat format;
  uint64_t rows, cols;
  std::string_view site;
};

TEST(GroupedParts, RefuseWhatNoFormatHolds) {
  const auto plain = [](int bits, DType scales) { return grouped(bits, 32, scales, [](Grouping&) {}); };
  const auto changed = [](auto change) { return grouped(4, 32, DType::kF16, change); };
  const Refusal refusals[] = {
      {plain(9, DType::kF16), 8, 64, "quant.grouped_bits"},
      {changed([](Grouping& grouping) { grouping.order = kColumns; }), 8, 36, "quant.code_words"},
      {plain(4, DType::kU8), 8, 64, "quant.grouped_scale_dtype"},
      {changed([](Grouping& grouping) { grouping.rule = ScaleRule::kNested; }), 8, 64, "quant.grouped_scale_dtype"},
      {changed([](Grouping& grouping) {
         grouping.offset = OffsetKind::kShifts;
         grouping.offset_dtype = DType::kI8;
       }),
       8, 64, "quant.offset_dtype"},
      {changed([](Grouping& grouping) { grouping.padded_groups = 1; }), 8, 64, "quant.grid"},
      {changed([](Grouping& grouping) {
         grouping.grid = GridOrder::kFlat;
         grouping.group_rows = 2;
       }),
       8, 64, "quant.grid"},
      {plain(4, DType::kF16), uint64_t{1} << 24, (uint64_t{1} << 24) + 1, "quant.grouped_size"},
      {plain(4, DType::kF16), uint64_t{1} << 32, uint64_t{1} << 32, "quant.grouped_size"},
      {plain(4, DType::kF16), 0, 64, "quant.grouped_size"},
  };
  for (const Refusal& refusal : refusals) {
    const auto bytes = part_bytes(refusal.format, refusal.rows, refusal.cols, "tensor");
    EXPECT_EQ(rejection_site(bytes.status()), refusal.site);
  }
}

}  // namespace
}  // namespace motley::quant
