// bitsandbytes. 4 bits: NAME.weight holds the nibbles of the whole matrix as one stream, in any dtype;
// NAME.weight.absmax one scale for each run of blocksize elements, quantised again or not; the rest is JSON in a tensor
// of bytes. 8 bits: NAME.weight in i8 and NAME.SCB, the largest magnitude of each row. Layout: docs/formats.md.
#include <cmath>
#include <limits>

#include "ingest/packing.h"
#include "quant/stored_matrix.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeOrder;
using tensor::CodeValue;
using tensor::DType;
using tensor::GridOrder;
using tensor::ScaleRule;

constexpr uint64_t kStateBudgetBytes = 4096;  // published: up to 180
constexpr std::string_view kState = "weight.quant_state.bitsandbytes__";

bool claims(const Module& module) {
  return module.has("weight.absmax") || module.has("SCB") || module.has(fmt::format("{}nf4", kState)) ||
         module.has(fmt::format("{}fp4", kState));
}

// --- 8 bits

StatusOr<BoundWeight> bind_int8(const Module& module, const model::RequiredWeight& required) {
  TRY(const Tensor* codes, need(module, "weight", "bnb.int8_missing"));
  TRY(check_type(*codes, {DType::kI8}, "bnb.int8_type"));
  TRY(check_exact_shape(*codes, {required.rows, required.cols}, "bnb.int8_shape"));
  const Tensor& scales = *module.find("SCB");
  TRY(check_type(scales, {DType::kF32}, "bnb.scb_type"));
  REJECT_IF(scales.range.size_bytes != required.rows * sizeof(float), "bnb.scb_shape", where(scales),
            fmt::format("{} row statistics", required.rows), shape_text(scales.shape));
  const Tensor* format = module.find("weight_format");
  if (format != nullptr) {
    TRY(const auto byte, read_range(*format->source, format->range, 8));
    REJECT_IF(byte.empty() || byte[0] != std::byte{0}, "bnb.weight_format", where(*format),
              "0, rows (other layouts are of one kind of card)", byte.empty() ? -1 : std::to_integer<int>(byte[0]));
  }
  tensor::StorageFormat stored{.kind = tensor::StorageKind::kGrouped, .bits = 8, .scale_dtype = DType::kF32};
  stored.grouping.packing = "bitsandbytes";
  stored.grouping.value = CodeValue::kSigned;
  stored.grouping.rule = ScaleRule::kOver127;
  stored.grouping.zero_point = 128;
  TRY(BoundWeight bound, bind_grouped({.codes = codes, .scales = &scales}, required, stored));
  if (format != nullptr) bound.used.push_back(format);
  return bound;
}

// --- 4 bits

struct State {
  CodeValue value = CodeValue::kNf4;
  uint64_t block_size = 0;
  std::optional<uint64_t> nested_block_size = {};
  double nested_offset = 0;
};

StatusOr<uint64_t> state_number(const Json& json, std::string_view key, std::string_view place) {
  const Json* value = json.find_value(key);
  const auto number = value == nullptr ? std::nullopt : value->as_uint();
  REJECT_IF(!number || *number == 0 || *number > UINT32_MAX, "bnb.state_number", place, fmt::format("a number {}", key),
            value == nullptr ? "none" : value->dump().substr(0, 40));
  return number.value_or(1);
}

Status check_state_shape(const Json& json, const model::RequiredWeight& required, std::string_view place) {
  const Json* shape = json.find_value("shape");
  const Json expected = Json(Json::Array{Json(required.rows), Json(required.cols)});
  REJECT_IF(shape == nullptr || shape->dump() != expected.dump(), "bnb.state_shape", place,
            fmt::format("shape {}", expected.dump()), shape == nullptr ? "none" : shape->dump().substr(0, 60));
  return absl::OkStatus();
}

StatusOr<State> read_state(const Tensor& tensor, CodeValue value, const model::RequiredWeight& required) {
  TRY(const auto bytes, read_range(*tensor.source, tensor.range, kStateBudgetBytes));
  const std::string place = where(tensor);
  TRY(const Json json, parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, place));
  State state{.value = value};
  TRY(state.block_size, state_number(json, "blocksize", place));
  TRY(check_state_shape(json, required, place));
  if (json.find_value("nested_blocksize") == nullptr) return state;
  TRY(state.nested_block_size, state_number(json, "nested_blocksize", place));
  const Json* offset = json.find_value("nested_offset");
  const auto number = offset == nullptr ? std::nullopt : offset->as_double();
  const bool fits = number && std::fabs(*number) <= std::numeric_limits<float>::max();
  REJECT_IF(!fits, "bnb.nested_offset", place, "a number nested_offset",
            offset == nullptr ? "none" : offset->dump().substr(0, 40));
  state.nested_offset = fits ? *number : 0;
  return state;
}

// The codebook stands in every file; only the two that bitsandbytes has are known.
Status check_codebook(const Tensor& map, CodeValue value) {
  const std::span<const float> expected = quant::code_values(value);
  REJECT_IF(map.type != StoredType(DType::kF32) || map.range.size_bytes != expected.size_bytes(), "bnb.quant_map_shape",
            where(map), fmt::format("{} numbers of f32", expected.size()), shape_text(map.shape));
  TRY(const auto bytes, read_range(*map.source, map.range, expected.size_bytes()));
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float got = tensor::load_float(DType::kF32, bytes.data(), i);
    REJECT_IF(!(std::fabs(got - expected[i]) <= 1e-6f), "bnb.quant_map", where(map),
              fmt::format("{} as number {}", expected[i], i), got);
  }
  return absl::OkStatus();
}

StatusOr<GroupedParts> find_scales(const Module& module, const State& state) {
  GroupedParts parts;
  TRY(parts.scales, need(module, "weight.absmax", "bnb.absmax_missing"));
  if (!state.nested_block_size) {
    TRY(check_type(*parts.scales, {DType::kF32}, "bnb.absmax_type"));
    return parts;
  }
  TRY(check_type(*parts.scales, {DType::kU8}, "bnb.nested_absmax_type"));
  TRY(parts.outer_scales, need(module, "weight.nested_absmax", "bnb.nested_absmax_missing"));
  TRY(check_type(*parts.outer_scales, {DType::kF32}, "bnb.outer_absmax_type"));
  TRY(parts.scale_table, need(module, "weight.nested_quant_map", "bnb.nested_map_missing"));
  TRY(check_type(*parts.scale_table, {DType::kF32}, "bnb.nested_map_type"));
  return parts;
}

StatusOr<BoundWeight> bind_nibbles(const Module& module, const model::RequiredWeight& required,
                                   const PackingClaim& claim) {
  const Tensor* nf4 = module.find(fmt::format("{}nf4", kState));
  TRY(const Tensor* state_tensor,
      nf4 != nullptr ? nf4 : need(module, fmt::format("{}fp4", kState), "bnb.state_missing"));
  const CodeValue value = nf4 != nullptr ? CodeValue::kNf4 : CodeValue::kBnbFp4;
  const std::string_view name = nf4 != nullptr ? "nf4" : "fp4";
  REJECT_IF(!claim.layout.empty() && claim.layout != name, "bnb.type_claimed", where(*state_tensor),
            fmt::format("{}, as the configuration says", claim.layout), name);
  TRY(const State state, read_state(*state_tensor, value, required));
  TRY(GroupedParts parts, find_scales(module, state));
  TRY(parts.codes, need(module, "weight", "bnb.weight_missing"));
  TRY(const Tensor* map, need(module, "weight.quant_map", "bnb.quant_map_missing"));
  TRY(check_codebook(*map, value));
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = 4,
                               .group_size = static_cast<uint32_t>(state.block_size),
                               .scale_dtype = std::get<DType>(parts.scales->type)};
  format.grouping.packing = "bitsandbytes";
  format.grouping.value = value;
  format.grouping.order = CodeOrder::kFlatHighFirst;
  format.grouping.grid = GridOrder::kFlat;
  if (state.nested_block_size) {
    format.grouping.rule = ScaleRule::kNested;
    format.grouping.nested_group = static_cast<uint32_t>(*state.nested_block_size);
    format.grouping.scale_offset = static_cast<float>(state.nested_offset);
  }
  TRY(BoundWeight bound, bind_grouped(parts, required, format));
  bound.used.push_back(map);
  bound.used.push_back(state_tensor);
  return bound;
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim) {
  return module.has("SCB") ? bind_int8(module, required) : bind_nibbles(module, required, claim);
}

}  // namespace

Packing bitsandbytes() { return {.name = "bitsandbytes", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
