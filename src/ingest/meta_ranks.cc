#include "ingest/meta_ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/checked.h"
#include "ingest/joined_source.h"
#include "ingest/packing.h"

namespace motley::ingest {
namespace {

constexpr std::string_view kPrefix = "consolidated.", kExtension = ".pth";
constexpr uint64_t kVectorBudgetBytes = 1 << 20;  // of a norm; the widest published model has 32 KB

// Which slice of a matrix a rank holds (llama/model.py: ColumnParallelLinear cuts outputs, RowParallelLinear inputs).
enum class Axis : uint8_t { kOutputs, kInputs };

struct AxisRow {
  std::string_view suffix;
  Axis axis;
};
constexpr std::array kAxes = {
    AxisRow{".attention.wq.weight", Axis::kOutputs},    AxisRow{".attention.wk.weight", Axis::kOutputs},
    AxisRow{".attention.wv.weight", Axis::kOutputs},    AxisRow{".attention.wo.weight", Axis::kInputs},
    AxisRow{".feed_forward.w1.weight", Axis::kOutputs}, AxisRow{".feed_forward.w2.weight", Axis::kInputs},
    AxisRow{".feed_forward.w3.weight", Axis::kOutputs}, AxisRow{"output.weight", Axis::kOutputs}};
constexpr std::string_view kEmbedding = "tok_embeddings.weight";

// Slices of one tensor, by rank.
using Slices = std::vector<const Tensor*>;

StatusOr<Axis> axis_of(const Slices& slices, uint64_t hidden) {
  const Tensor& tensor = *slices.front();
  if (tensor.name == kEmbedding) {  // Llama 1 and 2 cut its width, Llama 3 its vocabulary
    const bool inputs = tensor.shape[1] * slices.size() == hidden;
    REJECT_IF(!inputs && tensor.shape[1] != hidden, "meta.embedding_shape", where(tensor),
              fmt::format("a width of {}, or of {} in each of {} ranks", hidden, hidden / slices.size(), slices.size()),
              tensor.shape[1]);
    return inputs ? Axis::kInputs : Axis::kOutputs;
  }
  const auto row = std::find_if(kAxes.begin(), kAxes.end(),
                                [&](const AxisRow& known) { return tensor.name.ends_with(known.suffix); });
  if (row == kAxes.end())
    return reject({.site = "meta.unknown_matrix",
                   .where = where(tensor),
                   .expected = "only matrices of which it is known how ranks share them",
                   .got = "another one"});
  return row->axis;
}

StatusOr<Tensor> join_matrix(const Slices& slices, uint64_t hidden) {
  TRY(const Axis axis, axis_of(slices, hidden));
  Tensor joined = *slices.front();
  const size_t cut = axis == Axis::kOutputs ? 0 : 1;
  const auto size = checked_multiply(joined.shape[cut], slices.size());
  const auto bytes = checked_multiply(joined.range.size_bytes, slices.size());
  if (!size || !bytes) return absl::InternalError("slices larger than their files");
  joined.shape[cut] = *size;
  std::vector<JoinedPart> parts;
  for (const Tensor* slice : slices) parts.push_back({slice->source, slice->range});
  const uint64_t rows = axis == Axis::kOutputs ? 1 : joined.shape[0];
  joined.source = join_sources(fmt::format("{} and {} more", joined.source->name(), slices.size() - 1),
                               std::move(parts), rows, slices.front()->range.size_bytes / rows);
  joined.range = {0, *bytes};
  return joined;
}

// Vectors are the same in every rank.
StatusOr<Tensor> join_vector(const Slices& slices) {
  const Tensor& first = *slices.front();
  TRY(const auto expected, read_range(*first.source, first.range, kVectorBudgetBytes));
  for (const Tensor* slice : slices) {
    TRY(const auto bytes, read_range(*slice->source, slice->range, kVectorBudgetBytes));
    REJECT_IF(bytes != expected, "meta.vector", where(*slice), "the same bytes in every rank", "others than in rank 0");
  }
  return first;
}

StatusOr<Tensor> join(const Slices& slices, uint64_t hidden) {
  const Tensor& first = *slices.front();
  for (const Tensor* slice : slices)
    REJECT_IF(slice->type != first.type || slice->shape != first.shape, "meta.shapes", where(*slice),
              fmt::format("{} {} as in rank 0", describe(first.type), shape_text(first.shape)),
              fmt::format("{} {}", describe(slice->type), shape_text(slice->shape)));
  if (first.shape.size() == 2) return join_matrix(slices, hidden);
  return join_vector(slices);
}

}  // namespace

std::string plain_name(const ByteSource& source) {
  const std::string& path = source.name();
  return path.substr(path.rfind('/') + 1);
}

std::optional<uint32_t> rank_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kExtension)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(name.size(), kExtension.size()));
  uint32_t rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (name.size() != 2 || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return rank;
}

StatusOr<std::vector<Tensor>> join_ranks(std::vector<std::vector<Tensor>> ranks, uint64_t hidden) {
  if (ranks.size() == 1) return std::move(ranks.front());
  std::map<std::string_view, Slices> slices;
  for (const std::vector<Tensor>& rank : ranks)
    for (const Tensor& tensor : rank) slices[tensor.name].push_back(&tensor);
  std::vector<Tensor> joined;
  for (const auto& [name, of_ranks] : slices)
    REJECT_IF(of_ranks.size() != ranks.size(), "meta.tensor_sets", where(*of_ranks.front()),
              fmt::format("a slice in each of {} ranks", ranks.size()), of_ranks.size());
  for (const Tensor& tensor : ranks.front()) {
    TRY(Tensor whole, join(slices[tensor.name], hidden));
    joined.push_back(std::move(whole));
  }
  return joined;
}

}  // namespace motley::ingest
