// One tensor of ggml blocks for each weight. Types that motley cannot decode yet are refused by their name.
#include <array>

#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::StorageKind;

struct Row {
  uint32_t ggml_id;
  StorageKind kind;
};
constexpr std::array kSupported = {Row{2, StorageKind::kQ4_0}, Row{3, StorageKind::kQ4_1}, Row{8, StorageKind::kQ8_0},
                                   Row{14, StorageKind::kQ6_K}};

std::optional<StorageKind> kind_of(const StoredType& type) {
  const auto* ggml = std::get_if<GgmlType>(&type);
  for (const Row& row : kSupported)
    if (ggml != nullptr && row.ggml_id == ggml->id) return row.kind;
  return std::nullopt;
}

bool claims(const Module& module) { return std::holds_alternative<GgmlType>(module.weight.type); }

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required,
                           const MlxQuantization& /*none*/) {
  const auto kind = kind_of(module.weight.type);
  if (!kind)
    return reject({.site = "gguf_blocks.type",
                   .where = where(module.weight),
                   .expected = "Q4_0, Q4_1, Q8_0, Q6_K or floats",
                   .got = describe(module.weight.type)});
  REJECT_IF(required.rows == 1, "gguf_blocks.vector", where(module.weight), "floats for a vector",
            describe(module.weight.type));
  return bind_one_piece(module.weight, required, {.kind = *kind});
}

}  // namespace

Packing gguf_blocks() { return {.name = "GGUF blocks", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
