#include "ingest/packing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/checked.h"
#include "quant/stored_matrix.h"

namespace motley::ingest {
namespace packings_internal {
#define MOTLEY_PACKING(identifier) Packing identifier();
#include "ingest/packings.def"
#undef MOTLEY_PACKING
}  // namespace packings_internal

namespace {

constexpr uint64_t kMostFloats = 1 << 20;  // one per pair of a head; far above any

}  // namespace

StatusOr<TensorIndex> TensorIndex::build(const Container& container) {
  TensorIndex index;
  for (const Tensor& tensor : container.tensors) {
    const std::string_view name = arch::canonical_name(container.metadata.dialect, tensor.name);
    const auto [entry, added] = index.tensors_.emplace(name, &tensor);
    REJECT_IF(!added, "load.same_name", where(tensor), "one tensor for one purpose",
              fmt::format("{} for the same", entry->second->name));
  }
  return index;
}

const Tensor* TensorIndex::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

const std::vector<uint64_t>* TensorIndex::shape(std::string_view name) const {
  const Tensor* tensor = find(name);
  return tensor == nullptr ? nullptr : &tensor->shape;
}

StatusOr<std::vector<float>> TensorIndex::floats(std::string_view name) const {
  const Tensor* tensor = find(name);
  if (tensor == nullptr) return absl::NotFoundError(fmt::format("no tensor {}", name));
  REJECT_IF(tensor->type != StoredType(tensor::DType::kF32) || tensor->shape.size() != 1, "load.small_floats",
            where(*tensor), "a list of f32", fmt::format("{} {}", describe(tensor->type), shape_text(tensor->shape)));
  TRY(const auto bytes, read_range(*tensor->source, tensor->range, kMostFloats * sizeof(float)));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::span<const Packing> packings() {
  static const std::array rows = {
#define MOTLEY_PACKING(identifier) packings_internal::identifier(),
#include "ingest/packings.def"
#undef MOTLEY_PACKING
  };
  return rows;
}

namespace {

Status check_claim(const Module& module, const model::Weight& weight, const PackingClaim& claim) {
  const tensor::StorageFormat& format = weight.format;
  const bool packed = format.bits != 0;
  REJECT_IF(claim.plain && packed, "packing.claimed_plain", module.where(), "floats, as the configuration says",
            tensor::describe(format));
  REJECT_IF(claim.packed && !packed, "packing.claimed_packed", module.where(),
            "packed numbers, as the configuration says", tensor::describe(format));
  if (!packed) return absl::OkStatus();
  REJECT_IF(claim.bits && *claim.bits != format.bits, "packing.bits_claimed", module.where(),
            fmt::format("{} bits, as the configuration says", claim.bits.value_or(0)),
            fmt::format("{} by its tensors", int{format.bits}));
  const auto whole = [](uint64_t size, uint64_t all) { return size == 0 || size >= all ? 0 : size; };
  REJECT_IF(claim.group_size && whole(*claim.group_size, weight.cols) != whole(format.group_size, weight.cols),
            "packing.group_claimed", module.where(),
            fmt::format("groups of {}, as the configuration says", claim.group_size.value_or(0)),
            fmt::format("{} by its tensors", format.group_size));
  REJECT_IF(claim.group_rows && whole(*claim.group_rows, weight.rows) != whole(format.grouping.group_rows, weight.rows),
            "packing.group_rows_claimed", module.where(),
            fmt::format("blocks of {} rows, as the configuration says", claim.group_rows.value_or(0)),
            fmt::format("{} by its tensors", format.grouping.group_rows));
  return absl::OkStatus();
}

std::string packing_names() {
  return absl::StrJoin(packings(), ", ", [](std::string* out, const Packing& packing) { out->append(packing.name); });
}

}  // namespace

std::string Module::where() const {
  if (weight != nullptr) return ingest::where(*weight);
  const auto first = tensors.all().lower_bound(name + ".");
  return first == tensors.all().end() || !first->first.starts_with(name + ".") ? container.files.front()
                                                                               : ingest::where(*first->second);
}

StatusOr<BoundWeight> bind_weight(const Module& module, const model::RequiredWeight& required,
                                  const PackingClaim& claim) {
  for (const Packing& packing : packings()) {
    if (!packing.claims(module)) continue;
    TRY(BoundWeight bound, packing.bind(module, required, claim));
    TRY(check_claim(module, bound.weight, claim));
    return bound;
  }
  if (module.weight == nullptr)
    return reject(
        {.site = "load.missing_tensor",
         .where = module.container.files.front(),
         .expected = fmt::format("a tensor {} ({})",
                                 required.role.slot == model::Slot::kBias ? module.name : module.name + ".weight",
                                 model::describe(required.role)),
         .got = "none"});
  return reject({.site = "packing.type",
                 .where = where(*module.weight),
                 .expected = fmt::format("a weight that is {}", packing_names()),
                 .got = describe(module.weight->type)});
}

std::string where(const Tensor& tensor) { return fmt::format("{} tensor {}", tensor.source->name(), tensor.name); }

std::string shape_text(std::span<const uint64_t> shape) { return fmt::format("[{}]", absl::StrJoin(shape, ", ")); }

model::Piece piece_of(const Tensor& tensor) {
  return {.source = tensor.source, .range = tensor.range, .tensor = tensor.name};
}

Status check_shape(const Tensor& tensor, uint64_t rows, uint64_t cols, std::string_view site) {
  const bool vector = rows == 1 && tensor.shape == std::vector<uint64_t>{cols};
  REJECT_IF(!vector && tensor.shape != std::vector<uint64_t>({rows, cols}), site, where(tensor),
            rows == 1 ? fmt::format("shape [{}]", cols) : fmt::format("shape [{}, {}]", rows, cols),
            shape_text(tensor.shape));
  return absl::OkStatus();
}

StatusOr<const Tensor*> need(const Module& module, std::string_view suffix, std::string_view site) {
  const Tensor* tensor = module.find(suffix);
  if (tensor != nullptr) return tensor;
  return reject({.site = site,
                 .where = module.where(),
                 .expected = fmt::format("{}.{} beside it", module.name, suffix),
                 .got = "none"});
}

Status check_type(const Tensor& tensor, std::initializer_list<tensor::DType> types, std::string_view site) {
  const bool fits =
      std::any_of(types.begin(), types.end(), [&](tensor::DType type) { return tensor.type == StoredType(type); });
  REJECT_IF(!fits, site, where(tensor),
            absl::StrJoin(types, " or ", [](std::string* out, tensor::DType type) { out->append(tensor::name(type)); }),
            describe(tensor.type));
  return fits ? absl::OkStatus() : absl::InvalidArgumentError(where(tensor));
}

Status check_exact_shape(const Tensor& tensor, const std::vector<uint64_t>& shape, std::string_view site) {
  REJECT_IF(tensor.shape != shape, site, where(tensor), fmt::format("shape {}", shape_text(shape)),
            shape_text(tensor.shape));
  return absl::OkStatus();
}

void ignore_activation_scales(const Module& module, std::initializer_list<std::string_view> suffixes,
                              BoundWeight& bound) {
  for (const std::string_view suffix : suffixes)
    if (const Tensor* tensor = module.find(suffix))
      bound.ignored.emplace_back(tensor, "a scale for activations of few bits, which are kept wider here");
}

StatusOr<std::vector<int64_t>> read_integers(const Tensor& tensor, uint64_t most, std::string_view site) {
  const bool wide = tensor.type == StoredType(tensor::DType::kI64);
  const uint64_t size = wide ? sizeof(int64_t) : sizeof(int32_t), count = tensor.range.size_bytes / size;
  const bool fits = (wide || tensor.type == StoredType(tensor::DType::kI32)) && count <= most;
  REJECT_IF(!fits, site, where(tensor), fmt::format("at most {} numbers of i32 or i64", most),
            fmt::format("{} {}", describe(tensor.type), shape_text(tensor.shape)));
  if (!fits) return absl::InvalidArgumentError(where(tensor));
  TRY(const auto bytes, read_range(*tensor.source, tensor.range, most * size));
  std::vector<int64_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    int32_t narrow = 0;
    std::memcpy(wide ? static_cast<void*>(&numbers[i]) : &narrow, &bytes[i * size], size);
    if (!wide) numbers[i] = narrow;
  }
  return numbers;
}

namespace {

Status check_part(const Tensor* tensor, uint64_t bytes, std::string_view format_text) {
  if (tensor == nullptr) return absl::OkStatus();
  REJECT_IF(tensor->range.size_bytes != bytes, "packing.part_bytes", where(*tensor),
            fmt::format("{} bytes for {}", bytes, format_text), tensor->range.size_bytes);
  return tensor->range.size_bytes == bytes ? absl::OkStatus() : absl::InvalidArgumentError(where(*tensor));
}

// Offsets that lie where the scales do.
Status check_offset_shape(const GroupedParts& parts, const tensor::Grouping& grouping) {
  if (parts.offsets == nullptr || parts.scales == nullptr) return absl::OkStatus();
  REJECT_IF(grouping.offset_order == tensor::OffsetOrder::kLikeScales && parts.offsets->shape != parts.scales->shape,
            "packing.offset_shape", where(*parts.offsets),
            fmt::format("shape {} like the scales", shape_text(parts.scales->shape)), shape_text(parts.offsets->shape));
  return absl::OkStatus();
}

// The one scale of a tensor, that all others stand on.
Status check_outer_scale(const GroupedParts& parts, tensor::ScaleRule rule) {
  if (rule != tensor::ScaleRule::kTimesOuter && rule != tensor::ScaleRule::kOverOuter) return absl::OkStatus();
  TRY(const auto bytes, read_range(*parts.outer_scales->source, parts.outer_scales->range, sizeof(float)));
  const float scale = tensor::load_float(tensor::DType::kF32, bytes.data(), 0);
  REJECT_IF(!std::isfinite(scale) || scale <= 0, "packing.outer_scale", where(*parts.outer_scales), "a positive factor",
            scale);
  return absl::OkStatus();
}

}  // namespace

StatusOr<BoundWeight> bind_grouped(const GroupedParts& parts, const model::RequiredWeight& required,
                                   const tensor::StorageFormat& format) {
  REJECT_IF(required.rows == 1, "packing.vector", where(*parts.codes), "floats for a vector", tensor::describe(format));
  TRY(const quant::PartBytes bytes, quant::part_bytes(format, required.rows, required.cols, where(*parts.codes)));
  const std::string text = tensor::describe(format);
  TRY(check_part(parts.codes, bytes.codes, text));
  TRY(check_part(parts.scales, bytes.scales, text));
  TRY(check_part(parts.offsets, bytes.offsets, text));
  TRY(check_part(parts.outer_scales, bytes.outer_scales, text));
  TRY(check_part(parts.scale_table, bytes.scale_table, text));
  TRY(check_offset_shape(parts, format.grouping));
  TRY(check_outer_scale(parts, format.grouping.rule));
  BoundWeight bound{.weight = {.rows = required.rows, .cols = required.cols, .format = format}, .used = {}};
  model::Weight& weight = bound.weight;
  weight.codes = piece_of(*parts.codes);
  if (parts.scales != nullptr) weight.scales = piece_of(*parts.scales);
  if (parts.offsets != nullptr) weight.offsets = piece_of(*parts.offsets);
  if (parts.outer_scales != nullptr) weight.outer_scales = piece_of(*parts.outer_scales);
  if (parts.scale_table != nullptr) weight.scale_table = piece_of(*parts.scale_table);
  for (const Tensor* tensor : {parts.codes, parts.scales, parts.offsets, parts.outer_scales, parts.scale_table})
    if (tensor != nullptr) bound.used.push_back(tensor);
  return bound;
}

StatusOr<BoundWeight> bind_one_piece(const Tensor& tensor, const model::RequiredWeight& required,
                                     tensor::StorageFormat format) {
  TRY(check_shape(tensor, required.rows, required.cols, "packing.shape"));
  TRY(const auto row, quant::row_bytes(format, required.cols, where(tensor)));
  const auto all = checked_multiply(row.codes, required.rows);
  REJECT_IF(all != tensor.range.size_bytes, "packing.bytes", where(tensor),
            fmt::format("{} bytes for its shape in {}", all.value_or(0), tensor::describe(format)),
            tensor.range.size_bytes);
  model::Weight weight{.rows = required.rows, .cols = required.cols, .format = format, .codes = piece_of(tensor)};
  return BoundWeight{std::move(weight), {&tensor}};
}

}  // namespace motley::ingest
