#include "quant/grouped_layout.h"

#include "base/checked.h"

namespace motley::quant {
namespace {

using tensor::CodeOrder;
using tensor::DType;
using tensor::GridOrder;
using tensor::OffsetKind;
using tensor::OffsetOrder;
using tensor::ScaleRule;

// Larger than any matrix, small enough that no product of a size with 32 bits a code leaves 63 bits.
constexpr uint64_t kMostElements = uint64_t{1} << 48;
constexpr uint64_t kTableBytes = 256 * sizeof(float);

uint64_t words_for(uint64_t codes, uint64_t bits) { return (codes * bits + kWordBits - 1) / kWordBits; }

// The zero points of a GPTQ v1 file are one less than they mean. All fields of a word are raised at once and carry into
// each other, which undoes the borrow of the subtraction when the file was written.
uint32_t plus_one_in_each_field(uint32_t word, uint64_t bits) {
  constexpr uint32_t kOnes[9] = {0, 0, 0x55555555, 0, 0x11111111, 0, 0, 0, 0x01010101};
  return word + kOnes[bits];
}

uint32_t gptq_zero_point(const GroupedShape& shape, const std::byte* offsets, uint64_t n, uint64_t g) {
  const uint64_t bits = shape.bits(), row = g * words_for(shape.rows, bits) * kWordBits;
  const bool v1 = shape.format.grouping.offset_order == OffsetOrder::kGptqV1;
  if (bits == 3) return (bits_at(offsets, row + n * bits, bits) + (v1 ? 1 : 0)) & 7;
  const uint64_t bit = row + n * bits;
  const uint32_t word = load_u32(offsets + bit / kWordBits * 4);
  return (v1 ? plus_one_in_each_field(word, bits) : word) >> bit % kWordBits & ((1u << bits) - 1);
}

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

bool is_scale(DType dtype, ScaleRule rule) {
  if (rule == ScaleRule::kNested) return dtype == DType::kU8;
  return is_float(dtype) || dtype == DType::kF8E4M3 || dtype == DType::kF8E8M0;
}

// Whether the codes of rows x cols fill the units that they share.
bool fills_units(const GroupedShape& shape) {
  switch (shape.format.grouping.order) {
    case CodeOrder::kColumns:
      return shape.cols * shape.bits() % kWordBits == 0;
    case CodeOrder::kAwqGemm:
      return shape.rows % 8 == 0;
    case CodeOrder::kAwqGemvFast:
      return shape.rows % 4 == 0 && shape.cols % 64 == 0;
    case CodeOrder::kRowPairs:
      return shape.rows % 2 == 0;
    case CodeOrder::kSlicesHighFirst:
    case CodeOrder::kSlicesLowFirst:
      return shape.cols % shape.group_cols() == 0 &&
             (shape.thirds() || shape.rows * shape.groups() % shape.slices() == 0);
    default:
      return true;
  }
}

bool order_holds(CodeOrder order, uint64_t bits) {
  switch (order) {
    case CodeOrder::kFlatHighFirst:
    case CodeOrder::kAwqGemm:
    case CodeOrder::kAwqGemvFast:
    case CodeOrder::kRowPairs:
      return bits == 4;
    case CodeOrder::kColumns:
      return bits == 2 || bits == 3 || bits == 4 || bits == 8;
    case CodeOrder::kSlicesHighFirst:
      return bits == 1 || bits == 2 || bits == 3 || bits == 4 || bits == 8;
    case CodeOrder::kSlicesLowFirst:
      return bits == 2 || bits == 4;
    default:
      return bits >= 1 && bits <= 8;
  }
}

uint64_t code_bytes(const GroupedShape& shape) {
  const uint64_t rows = shape.rows, cols = shape.cols, bits = shape.bits();
  switch (shape.format.grouping.order) {
    case CodeOrder::kRows:
      return rows * ((cols * bits + 7) / 8);
    case CodeOrder::kWordRows:
      return rows * words_for(cols, bits) * 4;
    case CodeOrder::kWholeCodesRows:
      return rows * ((cols + kWordBits / bits - 1) / (kWordBits / bits)) * 4;
    case CodeOrder::kFlatHighFirst:
      return (rows * cols + 1) / 2;
    case CodeOrder::kColumns:
      return cols * bits / kWordBits * rows * 4;
    case CodeOrder::kAwqGemm:
    case CodeOrder::kAwqGemvFast:
    case CodeOrder::kRowPairs:
      return rows * cols / 2;
    case CodeOrder::kSlicesHighFirst:
    case CodeOrder::kSlicesLowFirst:
      return shape.slice_rows() * shape.group_cols() * shape.slice_unit_bits() / 8;
  }
  return 0;
}

uint64_t scale_count(const GroupedShape& shape) {
  if (shape.format.grouping.grid == GridOrder::kFlat)
    return (shape.rows * shape.cols + shape.group_cols() - 1) / shape.group_cols();
  return shape.row_groups() * shape.stored_groups();
}

uint64_t offset_bytes(const GroupedShape& shape) {
  const tensor::Grouping& grouping = shape.format.grouping;
  if (grouping.offset == OffsetKind::kZeroPoint) return 0;
  switch (grouping.offset_order) {
    case OffsetOrder::kLikeScales:
      return scale_count(shape) * tensor::size_bytes(grouping.offset_dtype);
    case OffsetOrder::kGptqV1:
    case OffsetOrder::kGptqV2:
    case OffsetOrder::kAwqGemm:
      return shape.groups() * words_for(shape.rows, shape.bits()) * 4;
    case OffsetOrder::kAwqGemv:
      return shape.rows * shape.stored_groups() / 8 * 4;
    case OffsetOrder::kPackedAlongN:
      return words_for(shape.rows, shape.bits()) * shape.groups() * 4;
  }
  return 0;
}

Status check_offsets(const StorageFormat& format, std::string_view where) {
  const tensor::Grouping& grouping = format.grouping;
  const bool plain = grouping.offset_order == OffsetOrder::kLikeScales;
  const bool integers = grouping.offset == OffsetKind::kZeroPoints;
  const bool fits = grouping.offset == OffsetKind::kZeroPoint || (integers && !plain) ||
                    (integers ? grouping.offset_dtype == DType::kI8 || grouping.offset_dtype == DType::kU8
                              : plain && is_float(grouping.offset_dtype));
  REJECT_IF(!fits, "quant.offset_dtype", where, "zero points of i8 or u8, or f32, f16 or bf16 offsets",
            tensor::name(grouping.offset_dtype));
  return absl::OkStatus();
}

Status check_format(const StorageFormat& format, std::string_view where) {
  const tensor::Grouping& grouping = format.grouping;
  REJECT_IF(!order_holds(grouping.order, format.bits), "quant.grouped_bits", where,
            fmt::format("a width that the layout of {} holds", grouping.packing), int{format.bits});
  REJECT_IF(!is_scale(format.scale_dtype, grouping.rule), "quant.grouped_scale_dtype", where,
            grouping.rule == ScaleRule::kNested ? "u8 scales" : "f32, f16, bf16, e4m3 or e8m0 scales",
            tensor::name(format.scale_dtype));
  return check_offsets(format, where);
}

}  // namespace

uint32_t packed_zero_point(const GroupedShape& shape, const std::byte* offsets, uint64_t n, uint64_t g) {
  switch (shape.format.grouping.offset_order) {
    case OffsetOrder::kGptqV1:
    case OffsetOrder::kGptqV2:
      return gptq_zero_point(shape, offsets, n, g);
    case OffsetOrder::kAwqGemm:
      return bits_at(offsets, (g * (shape.rows / 8) + n / 8) * kWordBits + 4 * awq_nibble(n), 4);
    case OffsetOrder::kAwqGemv:
      return bits_at(offsets, (n * shape.stored_groups() + g) * 4, 4);
    case OffsetOrder::kPackedAlongN: {
      const uint64_t bit = n * shape.bits(), word = bit / kWordBits * shape.groups() + g;
      return strided_bits_at(offsets, word * kWordBits + bit % kWordBits, shape.bits(), shape.groups());
    }
    case OffsetOrder::kLikeScales:
      break;
  }
  return 0;
}

StatusOr<PartBytes> grouped_part_bytes(const StorageFormat& format, uint64_t rows, uint64_t cols,
                                       std::string_view where) {
  TRY(check_format(format, where));
  const auto elements = checked_multiply(rows, cols);
  REJECT_IF(!elements || *elements == 0 || *elements > kMostElements, "quant.grouped_size", where,
            "a matrix of 1 to 2^48 numbers", fmt::format("{} x {}", rows, cols));
  const GroupedShape shape{format, rows, cols};
  const tensor::Grouping& grouping = format.grouping;
  REJECT_IF(!fills_units(shape), "quant.code_words", where,
            fmt::format("a shape that fills the words of {} in {} bits", grouping.packing, int{format.bits}),
            fmt::format("{} x {}", rows, cols));
  const bool padded_well =
      grouping.padded_groups == 0 || (grouping.padded_groups >= shape.groups() && grouping.padded_groups % 8 == 0);
  const bool flat_well = grouping.grid != GridOrder::kFlat || grouping.group_rows == 1;
  const bool nested_well = grouping.rule != ScaleRule::kNested || grouping.nested_group != 0;
  REJECT_IF(!padded_well || !flat_well || !nested_well, "quant.grid", where, "a grid that covers the matrix",
            fmt::format("{} scales a row of {} groups", grouping.padded_groups, shape.groups()));
  const uint64_t scales = scale_count(shape);
  PartBytes bytes{.codes = code_bytes(shape),
                  .scales = scales * tensor::size_bytes(format.scale_dtype),
                  .offsets = offset_bytes(shape)};
  if (grouping.rule == ScaleRule::kTimesOuter || grouping.rule == ScaleRule::kOverOuter)
    bytes.outer_scales = sizeof(float);
  if (grouping.rule == ScaleRule::kNested) {
    bytes.outer_scales = (scales + grouping.nested_group - 1) / grouping.nested_group * sizeof(float);
    bytes.scale_table = kTableBytes;
  }
  return bytes;
}

}  // namespace motley::quant
