#include "ingest/packing.h"

#include <array>
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

StatusOr<BoundWeight> bind_weight(const Module& module, const model::RequiredWeight& required,
                                  const MlxQuantization& quantization) {
  for (const Packing& packing : packings())
    if (packing.claims(module)) return packing.bind(module, required, quantization);
  return reject({.site = "packing.type",
                 .where = where(module.weight),
                 .expected = fmt::format(
                     "a weight that is {}",
                     absl::StrJoin(packings(), ", ",
                                   [](std::string* out, const Packing& packing) { out->append(packing.name); })),
                 .got = describe(module.weight.type)});
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

StatusOr<BoundWeight> bind_one_piece(const Tensor& tensor, const model::RequiredWeight& required,
                                     tensor::StorageFormat format) {
  TRY(check_shape(tensor, required.rows, required.cols, "packing.shape"));
  TRY(const auto row, quant::row_bytes(format, required.cols, where(tensor)));
  const auto all = checked_multiply(row.codes, required.rows);
  REJECT_IF(all != tensor.range.size_bytes, "packing.bytes", where(tensor),
            fmt::format("{} bytes for its shape in {}", all.value_or(0), tensor::describe(format)),
            tensor.range.size_bytes);
  model::Weight weight{.rows = required.rows,
                       .cols = required.cols,
                       .format = format,
                       .codes = piece_of(tensor),
                       .scales = {},
                       .biases = {}};
  return BoundWeight{std::move(weight), {&tensor}};
}

}  // namespace motley::ingest
