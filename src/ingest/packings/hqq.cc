// HQQ: NAME.W_q holds groups as rows, in slices of rows that share bytes; NAME.scale and NAME.zero are floats, one a
// group: w = (q - zero) * scale. How it was made lies beside it, in tensors of one number each (safetensors) or as
// plain values (HQQ's own pickle). Layout: docs/formats.md.
#include <array>

#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeOrder;
using tensor::DType;
using tensor::GridOrder;

bool claims(const Module& module) { return module.has("W_q"); }

// Notes of HQQ to itself that say nothing about how W_q is to be read, or that the tensors say too.
constexpr std::array<std::string_view, 12> kNotes = {
    "channel_wise", "compute_dtype", "encoded_state_dict",  "offload_meta",
    "optimize",     "packing",       "round_zero",          "quant_scale",
    "quant_zero",   "shape",         "stores_quant_config", "unpack_view_dtype"};

// A whole number of the module; nullopt when it is not there or is None.
StatusOr<std::optional<int64_t>> option(const Module& module, std::string_view name) {
  if (const Tensor* tensor = module.find(name)) {
    if (tensor->type == StoredType(DType::kU8) || tensor->type == StoredType(DType::kBool)) {
      TRY(const auto bytes, read_range(*tensor->source, tensor->range, 64));
      return bytes.empty() ? 0 : std::to_integer<int64_t>(bytes[0]);
    }
    TRY(const auto numbers, read_integers(*tensor, 1, "hqq.option_type"));
    return numbers.empty() ? 0 : numbers[0];
  }
  const std::string& codes = module.find("W_q")->name;  // attributes have the names of the file
  const auto found = module.container.attributes.find(codes.substr(0, codes.size() - 3) + std::string(name));
  if (found == module.container.attributes.end() || found->second.is_null()) return std::nullopt;
  const auto flag = found->second.as_bool();
  const auto number = flag ? std::optional<int64_t>(*flag ? 1 : 0) : found->second.as_int();
  REJECT_IF(!number, "hqq.attribute", module.where(), fmt::format("a number as {}", name),
            found->second.dump().substr(0, 40));
  return number;
}

StatusOr<tensor::StorageFormat> read_format(const Module& module, const model::RequiredWeight& required) {
  TRY(const auto bits, option(module, "nbits"));
  TRY(const auto group, option(module, "group_size"));
  TRY(const auto axis, option(module, "axis"));
  TRY(const auto nested_scale, option(module, "quant_scale"));
  TRY(const auto nested_zero, option(module, "quant_zero"));
  REJECT_IF(!bits || *bits < 1 || *bits > 8, "hqq.nbits", module.where(), "nbits of 1 to 8", bits.value_or(0));
  REJECT_IF(axis.value_or(1) != 1, "hqq.axis", module.where(), "groups along the inputs (axis 1)", axis.value_or(1));
  REJECT_IF(nested_scale.value_or(0) != 0 || nested_zero.value_or(0) != 0, "hqq.nested", module.where(),
            "scales and zeros in floats", "quantised ones");
  REJECT_IF(group && (*group < 1 || *group > static_cast<int64_t>(required.cols)), "hqq.group_size", module.where(),
            fmt::format("groups of at most {} inputs", required.cols), group.value_or(0));
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = static_cast<uint8_t>(bits.value_or(0)),
                               .group_size = static_cast<uint32_t>(group.value_or(0))};
  format.grouping.packing = "HQQ";
  format.grouping.order = CodeOrder::kSlicesHighFirst;
  format.grouping.grid = GridOrder::kFlat;
  format.grouping.offset = tensor::OffsetKind::kZeros;
  return format;
}

// Groups along the outputs would have as many scales, in one row.
Status check_groups_first(const Tensor& scales, const tensor::StorageFormat& format,
                          const model::RequiredWeight& required) {
  const uint64_t size = format.group_size == 0 ? required.cols : format.group_size;
  const uint64_t groups = required.rows * required.cols / size;
  REJECT_IF(scales.shape.empty() || scales.shape[0] != groups, "hqq.scale_shape", where(scales),
            fmt::format("shape [{}, 1]", groups), shape_text(scales.shape));
  return absl::OkStatus();
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  TRY(tensor::StorageFormat format, read_format(module, required));
  TRY(const Tensor* scales, need(module, "scale", "hqq.scale_missing"));
  TRY(const Tensor* zeros, need(module, "zero", "hqq.zero_missing"));
  TRY(check_type(*scales, {DType::kF32, DType::kF16, DType::kBF16}, "hqq.scale_type"));
  TRY(check_type(*zeros, {DType::kF32, DType::kF16, DType::kBF16}, "hqq.zero_type"));
  TRY(check_groups_first(*scales, format, required));
  format.scale_dtype = std::get<DType>(scales->type);
  format.grouping.offset_dtype = std::get<DType>(zeros->type);
  TRY(BoundWeight bound,
      bind_grouped({.codes = module.find("W_q"), .scales = scales, .offsets = zeros}, required, format));
  for (const std::string_view name : {"nbits", "group_size", "axis", "view_as_float"})
    if (const Tensor* tensor = module.find(name)) bound.used.push_back(tensor);
  for (const std::string_view name : kNotes)
    if (const Tensor* tensor = module.find(name)) bound.ignored.emplace_back(tensor, "says how HQQ made the weight");
  return bound;
}

}  // namespace

Packing hqq() { return {.name = "HQQ", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
