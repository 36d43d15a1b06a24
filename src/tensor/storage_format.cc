#include "tensor/storage_format.h"

#include <string_view>

#include "fmt/format.h"

namespace motley::tensor {
namespace {

constexpr std::string_view kNames[] = {
#define MOTLEY_STORAGE_FORMAT(kind, text) text,
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
};

std::string_view value_name(CodeValue value) {
  switch (value) {
    case CodeValue::kUnsigned:
    case CodeValue::kSigned:
      return "integers";
    case CodeValue::kNf4:
      return "nf4";
    case CodeValue::kBnbFp4:
      return "fp4 of bitsandbytes";
    case CodeValue::kE2M1:
      return "e2m1";
    case CodeValue::kE4M3:
      return "e4m3";
    case CodeValue::kE5M2:
      return "e5m2";
  }
  return "";
}

std::string groups_text(const StorageFormat& format) {
  const Grouping& grouping = format.grouping;
  const bool whole_rows = format.group_size == 0;
  if (whole_rows && grouping.group_rows == 0) return "one scale";
  if (whole_rows) return "a scale for each row";
  if (grouping.group_rows == 1) return fmt::format("groups of {}", format.group_size);
  return fmt::format("blocks of {} x {}", grouping.group_rows, format.group_size);
}

std::string_view offset_text(const Grouping& grouping) {
  switch (grouping.offset) {
    case OffsetKind::kZeroPoint:
      return grouping.rule == ScaleRule::kNested ? ", scales quantised too" : "";
    case OffsetKind::kZeroPoints:
      return ", zero points";
    case OffsetKind::kZeros:
      return ", float zero points";
    case OffsetKind::kShifts:
      return ", shifts";
    case OffsetKind::kBiases:
      return ", biases";
  }
  return "";
}

std::string describe_grouped(const StorageFormat& format) {
  const Grouping& grouping = format.grouping;
  return fmt::format("{} {}-bit {}, {}, {} scales{}", grouping.packing, format.bits, value_name(grouping.value),
                     groups_text(format), name(format.scale_dtype), offset_text(grouping));
}

}  // namespace

std::string describe(const StorageFormat& format) {
  const std::string_view text = kNames[static_cast<size_t>(format.kind)];
  if (format.kind == StorageKind::kGrouped) return describe_grouped(format);
  if (format.kind != StorageKind::kMlxAffine) return std::string(text);
  return fmt::format("{} {}-bit, groups of {}, {} scales", text, format.bits, format.group_size,
                     name(format.scale_dtype));
}

}  // namespace motley::tensor
