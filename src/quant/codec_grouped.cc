// Grouped formats: codes with a scale for each group of inputs, in the orders of tensor/storage_format.h. Each float
// operation is the one that the format's own software does, in its order, so that the results are the same bits.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/grouped_layout.h"
#include "quant/small_floats.h"

namespace motley::quant {
namespace {

using tensor::CodeOrder;
using tensor::CodeValue;
using tensor::DType;
using tensor::OffsetKind;
using tensor::OffsetOrder;
using tensor::ScaleRule;

// NF4 of QLoRA (Dettmers et al., arXiv 2305.14314, appendix E), as bitsandbytes rounds it.
constexpr float kNf4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};
// The FP4 of bitsandbytes has an order of its own; in units of 1/192 its values are whole.
constexpr int16_t kBnbFp4Units[8] = {0, 1, 128, 192, 64, 96, 32, 48};
constexpr float kBnbFp4[16] = {0.0f, 0.005208333333f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
                               0.0f, -0.005208333333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
constexpr int16_t kTwiceE2m1[8] = {0, 1, 2, 3, 4, 6, 8, 12};
constexpr float kNf4Unit = 4096;  // entries of `fast` are multiples of its inverse
constexpr float kOneOver127 = 7.874015718698502e-3f;

struct Group {
  float scale = 0;
  int zero_point = 0;  // of the unsigned code
  float shift = 0;     // kZeros, kShifts, kBiases: as stored
};

float load_scale(DType dtype, const std::byte* scales, uint64_t index) {
  if (dtype == DType::kF8E4M3) return e4m3(byte_at(scales, index));
  if (dtype == DType::kF8E8M0) return e8m0(byte_at(scales, index));
  return tensor::load_float(dtype, scales, index);
}

float outer_scale(const StoredMatrix& matrix, uint64_t index) {
  return tensor::load_float(DType::kF32, matrix.outer_scales.data(), index);
}

float scale_at(const StoredMatrix& matrix, uint64_t index) {
  const tensor::Grouping& grouping = matrix.format.grouping;
  if (grouping.rule == ScaleRule::kNested) {
    const uint32_t byte = byte_at(matrix.scales.data(), index);
    const float product = tensor::load_float(DType::kF32, matrix.scale_table.data(), byte) *
                          outer_scale(matrix, index / grouping.nested_group);
    return product + grouping.scale_offset;
  }
  const float scale = load_scale(matrix.format.scale_dtype, matrix.scales.data(), index);
  if (grouping.rule == ScaleRule::kTimesOuter) return scale * outer_scale(matrix, 0);
  if (grouping.rule == ScaleRule::kOverOuter) return scale / outer_scale(matrix, 0);
  return scale;
}

int plain_zero_point(const StorageFormat& format, const std::byte* offsets, uint64_t index) {
  const uint32_t byte = byte_at(offsets, index);
  const int number = format.grouping.offset_dtype == DType::kI8 ? static_cast<int8_t>(byte) : static_cast<int>(byte);
  return format.grouping.value == CodeValue::kSigned ? number + (1 << (format.bits - 1)) : number;
}

// The group of position `k` in row `n`.
Group group_at(const GroupedShape& shape, const StoredMatrix& matrix, uint64_t n, uint64_t k) {
  const tensor::Grouping& grouping = matrix.format.grouping;
  const bool flat = grouping.grid == tensor::GridOrder::kFlat;
  const uint64_t g = k / shape.group_cols();
  const uint64_t index = flat ? (n * shape.cols + k) / shape.group_cols() : scale_index(shape, n, g);
  Group group{.scale = scale_at(matrix, index), .zero_point = grouping.zero_point, .shift = 0};
  const std::byte* offsets = matrix.offsets.data();
  if (grouping.offset == OffsetKind::kZeroPoint) return group;
  if (grouping.offset != OffsetKind::kZeroPoints)
    group.shift = tensor::load_float(grouping.offset_dtype, offsets, index);
  else if (grouping.offset_order == OffsetOrder::kLikeScales)
    group.zero_point = plain_zero_point(matrix.format, offsets, index);
  else
    group.zero_point = static_cast<int>(packed_zero_point(shape, offsets, n, g));
  return group;
}

// Positions that have the group of position `k`.
uint64_t run_end(const GroupedShape& shape, uint64_t n, uint64_t k) {
  const uint64_t cols = shape.group_cols();
  if (shape.format.grouping.grid != tensor::GridOrder::kFlat) return std::min(shape.cols, (k / cols + 1) * cols);
  const uint64_t element = n * shape.cols + k;
  return std::min(shape.cols, k + cols - element % cols);
}

// Bits of the codes of positions [first, first + out.size()).
template <CodeOrder kOrder>
void read_codes(const GroupedShape& shape, const StoredMatrix& matrix, uint64_t n, uint64_t first,
                std::span<uint8_t> out) {
  for (uint64_t i = 0; i < out.size(); ++i) {
    const uint64_t k = matrix.input_order.empty() ? first + i : matrix.input_order[first + i];
    const uint64_t bit = first_bit<kOrder>(shape, n, k);
    const uint32_t code = kOrder == CodeOrder::kColumns
                              ? strided_bits_at(matrix.codes.data(), bit, shape.bits(), shape.rows)
                              : bits_at(matrix.codes.data(), bit, shape.bits());
    out[i] = static_cast<uint8_t>(code);
  }
}

// Runs of codes that lie in bytes or words side by side, without computing the place of each.

bool rows_of_bytes(const GroupedShape& shape) {
  const CodeOrder order = shape.format.grouping.order;
  return order == CodeOrder::kRows || order == CodeOrder::kWordRows;
}

uint64_t row_bit(const GroupedShape& shape, uint64_t n, uint64_t first) {
  return shape.format.grouping.order == CodeOrder::kRows ? first_bit<CodeOrder::kRows>(shape, n, first)
                                                         : first_bit<CodeOrder::kWordRows>(shape, n, first);
}

void read_bytes(const std::byte* from, std::span<uint8_t> out) {
  for (uint64_t i = 0; i < out.size(); ++i) out[i] = std::to_integer<uint8_t>(from[i]);
}

enum class FirstNibble : uint8_t { kLow, kHigh };

void read_nibbles(const std::byte* from, FirstNibble first, std::span<uint8_t> out) {
  const uint64_t low = first == FirstNibble::kLow ? 0 : 1;
  for (uint64_t i = 0; i < out.size() / 2; ++i) {
    out[2 * i + low] = static_cast<uint8_t>(low_nibble(from, i));
    out[2 * i + 1 - low] = static_cast<uint8_t>(high_nibble(from, i));
  }
}

// Whole words of one column.
void read_column(const GroupedShape& shape, const std::byte* codes, uint64_t n, uint64_t first,
                 std::span<uint8_t> out) {
  const uint64_t per_word = kWordBits / shape.bits();
  const uint32_t mask = (1u << shape.bits()) - 1;
  for (uint64_t i = 0; i < out.size(); i += per_word) {
    const uint32_t word = load_u32(codes + ((first + i) / per_word * shape.rows + n) * 4);
    for (uint64_t j = 0; j < per_word; ++j) out[i + j] = static_cast<uint8_t>(word >> (shape.bits() * j) & mask);
  }
}

// False where codes do not lie so.
bool read_runs(const GroupedShape& shape, const StoredMatrix& matrix, uint64_t n, uint64_t first,
               std::span<uint8_t> out) {
  const std::byte* codes = matrix.codes.data();
  const bool even = first % 2 == 0 && out.size() % 2 == 0;
  if (!matrix.input_order.empty()) return false;
  if (rows_of_bytes(shape) && shape.bits() == 8) return read_bytes(codes + row_bit(shape, n, first) / 8, out), true;
  if (rows_of_bytes(shape) && shape.bits() == 4 && even)
    return read_nibbles(codes + row_bit(shape, n, first) / 8, FirstNibble::kLow, out), true;
  if (matrix.format.grouping.order == CodeOrder::kFlatHighFirst && even && shape.cols % 2 == 0)
    return read_nibbles(codes + (n * shape.cols + first) / 2, FirstNibble::kHigh, out), true;
  const uint64_t per_word = kWordBits / shape.bits();
  if (matrix.format.grouping.order != CodeOrder::kColumns || shape.bits() == 3 || first % per_word != 0 ||
      out.size() % per_word != 0)
    return false;
  return read_column(shape, codes, n, first, out), true;
}

void read_any_codes(const GroupedShape& shape, const StoredMatrix& matrix, uint64_t n, uint64_t first,
                    std::span<uint8_t> out) {
  using enum CodeOrder;
  switch (matrix.format.grouping.order) {
    case kRows:
      return read_codes<kRows>(shape, matrix, n, first, out);
    case kWordRows:
      return read_codes<kWordRows>(shape, matrix, n, first, out);
    case kWholeCodesRows:
      return read_codes<kWholeCodesRows>(shape, matrix, n, first, out);
    case kFlatHighFirst:
      return read_codes<kFlatHighFirst>(shape, matrix, n, first, out);
    case kColumns:
      return read_codes<kColumns>(shape, matrix, n, first, out);
    case kAwqGemm:
      return read_codes<kAwqGemm>(shape, matrix, n, first, out);
    case kAwqGemvFast:
      return read_codes<kAwqGemvFast>(shape, matrix, n, first, out);
    case kSlicesHighFirst:
      return read_codes<kSlicesHighFirst>(shape, matrix, n, first, out);
    case kSlicesLowFirst:
      return read_codes<kSlicesLowFirst>(shape, matrix, n, first, out);
    case kRowPairs:
      return read_codes<kRowPairs>(shape, matrix, n, first, out);
  }
}

// Codes of positions [first, first + out.size()), unsigned (a signed one with its highest bit turned over).
void read_codes(const GroupedShape& shape, const StoredMatrix& matrix, uint64_t n, uint64_t first,
                std::span<uint8_t> out) {
  if (!read_runs(shape, matrix, n, first, out)) read_any_codes(shape, matrix, n, first, out);
  if (matrix.format.grouping.value != CodeValue::kSigned) return;
  for (uint8_t& code : out) code ^= static_cast<uint8_t>(1u << (shape.bits() - 1));
}

// Calls use(group, place of the first code in the output, codes) for runs of codes inside one group, so that they need
// no memory of their own.
template <typename Use>
void for_codes(const StoredMatrix& matrix, uint64_t row, uint64_t first, uint64_t count, const Use& use) {
  const GroupedShape shape{matrix.format, matrix.rows, matrix.cols};
  uint8_t codes[256];
  for (uint64_t k = first; k < first + count;) {
    const Group group = group_at(shape, matrix, row, k);
    const uint64_t end = std::min(first + count, run_end(shape, row, k));
    while (k < end) {
      const std::span piece = std::span(codes).first(std::min<uint64_t>(end - k, sizeof(codes)));
      read_codes(shape, matrix, row, k, piece);
      use(group, k - first, std::span<const uint8_t>(piece));
      k += piece.size();
    }
  }
}

float value_of(CodeValue value, uint32_t code) {
  switch (value) {
    case CodeValue::kNf4:
      return kNf4[code];
    case CodeValue::kBnbFp4:
      return kBnbFp4[code];
    case CodeValue::kE2M1:
      return e2m1(code);
    case CodeValue::kE4M3:
      return e4m3(code);
    case CodeValue::kE5M2:
      return tensor::f16_to_f32(static_cast<uint16_t>(code << 8));  // its upper byte
    case CodeValue::kUnsigned:
    case CodeValue::kSigned:
      break;
  }
  return static_cast<float>(code);
}

bool is_integer(CodeValue value) { return value == CodeValue::kUnsigned || value == CodeValue::kSigned; }

// What each code of a float or table stands for.
std::array<float, 256> values_of(CodeValue value) {
  std::array<float, 256> values{};
  const size_t count = value == CodeValue::kE4M3 || value == CodeValue::kE5M2 ? 256 : 16;
  for (uint32_t code = 0; code < count; ++code) values[code] = value_of(value, code);
  return values;
}

// Numbers of one group from their values in place, by the operations of the format's own software in their order.
void finish(const tensor::Grouping& grouping, const Group& group, std::span<float> numbers) {
  switch (grouping.offset) {
    case OffsetKind::kZeros:
      for (float& number : numbers) number = (number - group.shift) * group.scale;
      return;
    case OffsetKind::kShifts:
      for (float& number : numbers) number = number * group.scale - group.shift;
      return;
    case OffsetKind::kBiases:
      for (float& number : numbers) number = number * group.scale + group.shift;
      return;
    default:
      for (float& number : numbers) number *= group.scale;
  }
  if (grouping.rule == ScaleRule::kOver127)
    for (float& number : numbers) number *= kOneOver127;
}

void grouped_decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  static const std::array<float, 256> all_values[] = {values_of(CodeValue::kNf4), values_of(CodeValue::kBnbFp4),
                                                      values_of(CodeValue::kE2M1), values_of(CodeValue::kE4M3),
                                                      values_of(CodeValue::kE5M2)};
  const tensor::Grouping& grouping = matrix.format.grouping;
  const bool integers = is_integer(grouping.value);
  const auto& values =
      all_values[integers ? 0 : static_cast<size_t>(grouping.value) - static_cast<size_t>(CodeValue::kNf4)];
  for_codes(matrix, row, first, out.size(), [&](const Group& group, uint64_t at, std::span<const uint8_t> codes) {
    const std::span<float> numbers = out.subspan(at, codes.size());
    if (integers)
      for (size_t i = 0; i < codes.size(); ++i) numbers[i] = static_cast<float>(int{codes[i]} - group.zero_point);
    else
      for (size_t i = 0; i < codes.size(); ++i) numbers[i] = values[codes[i]];
    finish(grouping, group, numbers);
  });
}

void grouped_decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out) {
  read_codes({matrix.format, matrix.rows, matrix.cols}, matrix, row, 0, out);
}

// --- integers

IntegerForm grouped_integer_form(const StorageFormat& format, uint64_t cols) {
  const tensor::Grouping& grouping = format.grouping;
  const bool floats = grouping.value == CodeValue::kE4M3 || grouping.value == CodeValue::kE5M2;
  if (floats || cols % kIntegerRun != 0 || format.group_size % kIntegerRun != 0) return IntegerForm::kNone;
  return grouping.offset == OffsetKind::kZeroPoint || grouping.offset == OffsetKind::kZeroPoints ? IntegerForm::kScaled
                                                                                                 : IntegerForm::kBiased;
}

// The integers of a table's codes.
std::array<int16_t, 16> table_of(CodeValue value) {
  std::array<int16_t, 16> table{};
  for (uint32_t code = 0; code < 16; ++code) {
    const int16_t magnitude = value == CodeValue::kBnbFp4 ? kBnbFp4Units[code & 7] : kTwiceE2m1[code & 7];
    table[code] = value == CodeValue::kNf4 ? static_cast<int16_t>(std::lround(kNf4[code] * kNf4Unit))
                                           : static_cast<int16_t>((code & 8) != 0 ? -magnitude : magnitude);
  }
  return table;
}

float integer_unit(const tensor::Grouping& grouping) {
  if (grouping.rule == ScaleRule::kOver127) return kOneOver127;
  switch (grouping.value) {
    case CodeValue::kNf4:
      return 1 / kNf4Unit;
    case CodeValue::kBnbFp4:
      return 1.0f / 192;
    case CodeValue::kE2M1:
      return 0.5f;
    default:
      return 1;
  }
}

float bias_of(OffsetKind offset, const Group& group) {
  switch (offset) {
    case OffsetKind::kZeros:
      return -group.shift * group.scale;
    case OffsetKind::kShifts:
      return -group.shift;
    case OffsetKind::kBiases:
      return group.shift;
    default:
      return 0;
  }
}

void grouped_decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                             std::span<float> scales, std::span<float> biases) {
  static const std::array<int16_t, 16> tables[] = {table_of(CodeValue::kNf4), table_of(CodeValue::kBnbFp4),
                                                   table_of(CodeValue::kE2M1)};
  const tensor::Grouping& grouping = matrix.format.grouping;
  const bool plain = is_integer(grouping.value);
  const auto& table = tables[plain ? 0 : static_cast<size_t>(grouping.value) - static_cast<size_t>(CodeValue::kNf4)];
  const float unit = integer_unit(grouping);
  for_codes(matrix, row, first, integers.size(), [&](const Group& group, uint64_t at, std::span<const uint8_t> codes) {
    int16_t* out = integers.data() + at;
    for (uint64_t run = at / kIntegerRun; run < (at + codes.size()) / kIntegerRun; ++run) {
      scales[run] = group.scale * unit;
      biases[run] = bias_of(grouping.offset, group);
    }
    if (plain)
      for (size_t i = 0; i < codes.size(); ++i) out[i] = static_cast<int16_t>(codes[i] - group.zero_point);
    else
      for (size_t i = 0; i < codes.size(); ++i) out[i] = table[codes[i] & 15];
  });
}

}  // namespace

std::span<const float> code_values(CodeValue value) {
  if (value == CodeValue::kNf4) return kNf4;
  return value == CodeValue::kBnbFp4 ? std::span<const float>(kBnbFp4) : std::span<const float>();
}

const Codec codec_kGrouped = {.row_bytes = nullptr,
                              .decode_row = grouped_decode_row,
                              .decode_codes = grouped_decode_codes,
                              .encode_row = nullptr,
                              .integer_form = grouped_integer_form,
                              .decode_integers = grouped_decode_integers,
                              .part_bytes = grouped_part_bytes};

}  // namespace motley::quant
