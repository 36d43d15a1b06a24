#include "kernels/testing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace motley::kernels::testing {
namespace {

using quant::EncodedMatrix;
using quant::StorageFormat;
using tensor::StorageKind;

float uniform(Random& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

// `typical` with either sign; one in eight is zero and one in eight far below f16's normal range.
float random_scale(float typical, Random& random) {
  const uint64_t draw = random() % 8;
  if (draw == 0) return 0;
  if (draw == 1) return uniform(random, 0, 0x1p-15f);
  return uniform(random, -typical, typical);
}

void put(std::byte* at, DType dtype, float value) {
  if (dtype == DType::kF32) {
    std::memcpy(at, &value, 4);
    return;
  }
  const uint16_t half = dtype == DType::kF16 ? tensor::f32_to_f16(value) : tensor::f32_to_bf16(value);
  std::memcpy(at, &half, 2);
}

void fill_random(std::vector<std::byte>& bytes, Random& random) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

void fill_floats(std::vector<std::byte>& bytes, DType dtype, float typical, Random& random) {
  const size_t size = tensor::size_bytes(dtype);
  for (size_t at = 0; at < bytes.size(); at += size) put(&bytes[at], dtype, random_scale(typical, random));
}

// Formats without a layout of their own: inputs and bytes of a block, and its f16 factors.
struct StoredBlock {
  StorageKind kind;
  uint32_t cols, bytes;
  std::vector<size_t> factors_at;
};
const std::vector<StoredBlock>& stored_blocks() {
  static const std::vector<StoredBlock> blocks = {
      {StorageKind::kQ5_0, 32, 22, {0}},       {StorageKind::kQ5_1, 32, 24, {0, 2}},
      {StorageKind::kQ2_K, 256, 84, {80, 82}}, {StorageKind::kQ3_K, 256, 110, {108}},
      {StorageKind::kQ4_K, 256, 144, {0, 2}},  {StorageKind::kQ5_K, 256, 176, {0, 2}},
      {StorageKind::kIQ4_NL, 32, 18, {0}},     {StorageKind::kIQ4_XS, 256, 136, {0}},
      {StorageKind::kIQ2_XXS, 256, 66, {0}},   {StorageKind::kIQ3_S, 256, 110, {0}},
      {StorageKind::kIQ1_S, 256, 50, {0}},     {StorageKind::kTQ1_0, 256, 54, {52}},
      {StorageKind::kTQ2_0, 256, 66, {64}},    {StorageKind::kQ1_0, 128, 18, {0}},
      {StorageKind::kQ2_0, 64, 18, {0}}};
  return blocks;
}
const StoredBlock* stored_block(StorageKind kind) {
  for (const StoredBlock& block : stored_blocks())
    if (block.kind == kind) return &block;
  return nullptr;
}

// Puts sane f16 scales (and offsets) into blocks of random bytes.
void mend_blocks(std::vector<std::byte>& bytes, size_t block_bytes, size_t scale_at, float typical, bool has_offset,
                 Random& random) {
  for (size_t at = 0; at < bytes.size(); at += block_bytes) {
    put(&bytes[at + scale_at], DType::kF16, random_scale(typical, random));
    if (has_offset) put(&bytes[at + scale_at + 2], DType::kF16, uniform(random, -1, 1));
  }
}

// One of each kind of grouped codes: integers with each kind of offset, tables, floats, scales of two levels.
std::vector<StorageFormat> grouped_formats() {
  using tensor::CodeOrder;
  using tensor::CodeValue;
  using tensor::GridOrder;
  using tensor::Grouping;
  using tensor::OffsetKind;
  using tensor::OffsetOrder;
  using tensor::ScaleRule;
  const auto format = [](std::string_view name, int bits, uint32_t group, DType scales, const auto& change) {
    StorageFormat result{
        .kind = StorageKind::kGrouped, .bits = static_cast<uint8_t>(bits), .group_size = group, .scale_dtype = scales};
    result.grouping.packing = name;
    change(result.grouping);
    return result;
  };
  return {
      format("columns", 4, 64, DType::kF16,
             [](Grouping& g) {
               g.order = CodeOrder::kColumns;
               g.grid = GridOrder::kColumnMajor;
               g.offset = OffsetKind::kZeroPoints;
               g.offset_order = OffsetOrder::kGptqV2;
             }),
      format("rows of bytes", 8, 0, DType::kF32,
             [](Grouping& g) {
               g.value = CodeValue::kSigned;
               g.zero_point = 128;
               g.rule = ScaleRule::kOver127;
             }),
      format("slices", 3, 64, DType::kF32,
             [](Grouping& g) {
               g.order = CodeOrder::kSlicesHighFirst;
               g.grid = GridOrder::kFlat;
               g.offset = OffsetKind::kZeros;
             }),
      format("rows", 5, 32, DType::kBF16,
             [](Grouping& g) {
               g.order = CodeOrder::kWordRows;
               g.offset = OffsetKind::kShifts;
               g.offset_dtype = DType::kF16;
             }),
      format("nf4", 4, 64, DType::kF32,
             [](Grouping& g) {
               g.value = CodeValue::kNf4;
               g.order = CodeOrder::kFlatHighFirst;
               g.grid = GridOrder::kFlat;
             }),
      format("e2m1", 4, 16, DType::kF16, [](Grouping& g) { g.value = CodeValue::kE2M1; }),
      format("e4m3", 8, 32, DType::kBF16,
             [](Grouping& g) {
               g.value = CodeValue::kE4M3;
               g.group_rows = 16;
             }),
  };
}

DType float_dtype(StorageKind kind) {
  if (kind == StorageKind::kF32) return DType::kF32;
  return kind == StorageKind::kF16 ? DType::kF16 : DType::kBF16;
}

void fill_grouped(EncodedMatrix& matrix, Random& random) {
  const tensor::Grouping& grouping = matrix.format.grouping;
  if (grouping.value == tensor::CodeValue::kE4M3)
    for (std::byte& code : matrix.codes) code &= std::byte{0xbf};  // no NaN, and at most 2
  fill_floats(matrix.scales, matrix.format.scale_dtype, 1.0f / static_cast<float>(1 << matrix.format.bits), random);
  if (grouping.offset == tensor::OffsetKind::kZeroPoints)
    fill_random(matrix.offsets, random);
  else
    fill_floats(matrix.offsets, grouping.offset_dtype, 1, random);
}

}  // namespace

std::vector<StorageFormat> all_formats() {
  std::vector<StorageFormat> formats;
  for (StorageKind kind : {StorageKind::kF32, StorageKind::kF16, StorageKind::kBF16, StorageKind::kQ4_0,
                           StorageKind::kQ4_1, StorageKind::kQ8_0, StorageKind::kQ6_K})
    formats.push_back({.kind = kind, .bits = 0, .group_size = 0, .scale_dtype = DType::kF32});
  for (const StoredBlock& block : stored_blocks())
    formats.push_back({.kind = block.kind, .bits = 0, .group_size = 0, .scale_dtype = DType::kF32});
  for (const StorageFormat& format : grouped_formats()) formats.push_back(format);
  for (int bits : {2, 3, 4, 5, 6, 8})
    for (int group : {32, 64, 128})
      for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
        formats.push_back({.kind = StorageKind::kMlxAffine,
                           .bits = static_cast<uint8_t>(bits),
                           .group_size = static_cast<uint32_t>(group),
                           .scale_dtype = dtype});
  return formats;
}

uint64_t smallest_cols(const StorageFormat& format) {
  if (const StoredBlock* block = stored_block(format.kind)) return block->cols;
  switch (format.kind) {
    case StorageKind::kF32:
    case StorageKind::kF16:
    case StorageKind::kBF16:
      return 1;
    case StorageKind::kMlxAffine:
      return format.group_size;
    case StorageKind::kQ6_K:
      return 256;
    case StorageKind::kGrouped:
      return std::max<uint64_t>(kChunkCols, format.group_size);
    default:
      return 32;
  }
}

EncodedMatrix random_matrix(const StorageFormat& format, uint64_t rows, uint64_t cols, Random& random) {
  const quant::PartBytes bytes = quant::part_bytes(format, rows, cols, "random matrix").value();
  EncodedMatrix matrix{.format = format, .rows = rows, .cols = cols, .codes = {}, .scales = {}, .offsets = {}};
  matrix.codes.resize(bytes.codes);
  matrix.scales.resize(bytes.scales);
  matrix.offsets.resize(bytes.offsets);
  fill_random(matrix.codes, random);
  if (const StoredBlock* block = stored_block(format.kind))
    for (const size_t at : block->factors_at) mend_blocks(matrix.codes, block->bytes, at, 1.0f / 256, false, random);
  switch (format.kind) {
    case StorageKind::kQ4_0:
      mend_blocks(matrix.codes, 18, 0, 1.0f / 8, false, random);
      break;
    case StorageKind::kQ4_1:
      mend_blocks(matrix.codes, 20, 0, 1.0f / 15, true, random);
      break;
    case StorageKind::kQ8_0:
      mend_blocks(matrix.codes, 34, 0, 1.0f / 127, false, random);
      break;
    case StorageKind::kQ6_K:
      mend_blocks(matrix.codes, 210, 208, 1.0f / (32 * 127), false, random);
      break;
    case StorageKind::kMlxAffine:
      fill_floats(matrix.scales, format.scale_dtype, 1.0f / static_cast<float>(1 << format.bits), random);
      fill_floats(matrix.offsets, format.scale_dtype, 1, random);
      break;
    case StorageKind::kGrouped:
      fill_grouped(matrix, random);
      break;
    case StorageKind::kF32:
    case StorageKind::kF16:
    case StorageKind::kBF16:
      fill_floats(matrix.codes, float_dtype(format.kind), 1, random);
      break;
    default:
      break;  // a stored block, above
  }
  return matrix;
}

std::vector<float> random_activations(size_t count, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t draw = random() % 64;
    values[i] = i / 32 % 5 == 4 || draw == 0 ? 0 : normal(random) * (draw == 1 ? 20.0f : 1.0f);
  }
  return values;
}

namespace {

EncodedMatrix copy_of(const quant::StoredMatrix& stored) {
  const auto bytes = [](std::span<const std::byte> part) { return std::vector<std::byte>(part.begin(), part.end()); };
  return {.format = stored.format,
          .rows = stored.rows,
          .cols = stored.cols,
          .codes = bytes(stored.codes),
          .scales = bytes(stored.scales),
          .offsets = bytes(stored.offsets),
          .outer_scales = bytes(stored.outer_scales),
          .scale_table = bytes(stored.scale_table),
          .input_order = {stored.input_order.begin(), stored.input_order.end()}};
}

}  // namespace

Panels::Panels(const quant::StoredMatrix& stored)
    : own_(copy_of(stored)),
      matrix_{.format = panel_format(stored.format, stored.cols),
              .rows = stored.rows,
              .cols = stored.cols,
              .panels = nullptr,
              .stored = own_.view()} {
  if (matrix_.format.kind == PanelKind::kStored) return;
  const uint64_t size = panel_bytes(matrix_.format, stored.cols);
  const uint64_t total = (size * matrix_.panel_count() + 63) / 64 * 64;
  bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(64, total)));
  matrix_.panels = bytes_.get();
  for (uint64_t panel = 0; panel < matrix_.panel_count(); ++panel)
    pack_panel(stored, panel, {bytes_.get() + panel * size, size});
}

void Panels::Free::operator()(std::byte* bytes) const { std::free(bytes); }

Activations::Activations(const KernelTable& table, const PanelFormat& format, uint64_t cols, uint32_t tokens,
                         std::vector<float> values)
    : cols_(cols), tokens_(tokens), group_(format.activation_group()), values_(std::move(values)) {
  if (format.offset == PanelFormat::Offset::kBiases) {
    const uint64_t groups = cols / format.group_size;
    sums_f32_.resize(tokens * groups);
    for (uint32_t t = 0; t < tokens; ++t)
      table.group_sums(&values_[t * cols], cols, format.group_size, &sums_f32_[t * groups]);
  }
  if (group_ == 0) return;
  const uint64_t groups = cols / group_;
  stride_ = cols + kStrideGap;
  codes_.resize(tokens * stride_);
  scales_.resize(tokens * groups);
  sums_.resize(tokens * groups);
  if (format.kind == PanelKind::kQ6_K || format.kind == PanelKind::kStored) half_sums_.resize(tokens * groups * 2);
  for (uint32_t t = 0; t < tokens; ++t)
    table.quantize_row(&values_[t * cols], cols, group_, &codes_[t * stride_], &scales_[t * groups], &sums_[t * groups],
                       half_sums_.empty() ? nullptr : &half_sums_[t * groups * 2]);
}

FloatRows Activations::floats() const {
  return {.data = values_.data(),
          .stride = cols_,
          .sums = sums_f32_.empty() ? nullptr : sums_f32_.data(),
          .tokens = tokens_};
}

QuantizedRows Activations::quantized() const {
  return {.codes = codes_.data(),
          .stride = stride_,
          .scales = scales_.data(),
          .sums = sums_.data(),
          .half_sums = half_sums_.empty() ? nullptr : half_sums_.data(),
          .group = group_,
          .groups = group_ == 0 ? 0 : cols_ / group_,
          .tokens = tokens_};
}

}  // namespace motley::kernels::testing
