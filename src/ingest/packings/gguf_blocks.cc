// One tensor of ggml blocks for each weight. Types that are for activations only are refused by their name.
#include <array>

#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::StorageKind;

struct Row {
  uint32_t ggml_id;
  StorageKind kind;
};
constexpr std::array kSupported = {
    Row{2, StorageKind::kQ4_0},     Row{3, StorageKind::kQ4_1},     Row{6, StorageKind::kQ5_0},
    Row{7, StorageKind::kQ5_1},     Row{8, StorageKind::kQ8_0},     Row{10, StorageKind::kQ2_K},
    Row{11, StorageKind::kQ3_K},    Row{12, StorageKind::kQ4_K},    Row{13, StorageKind::kQ5_K},
    Row{14, StorageKind::kQ6_K},    Row{16, StorageKind::kIQ2_XXS}, Row{17, StorageKind::kIQ2_XS},
    Row{18, StorageKind::kIQ3_XXS}, Row{19, StorageKind::kIQ1_S},   Row{20, StorageKind::kIQ4_NL},
    Row{21, StorageKind::kIQ3_S},   Row{22, StorageKind::kIQ2_S},   Row{23, StorageKind::kIQ4_XS},
    Row{29, StorageKind::kIQ1_M},   Row{34, StorageKind::kTQ1_0},   Row{35, StorageKind::kTQ2_0},
    Row{39, StorageKind::kMXFP4},   Row{40, StorageKind::kNVFP4},   Row{41, StorageKind::kQ1_0},
    Row{42, StorageKind::kQ2_0}};

std::optional<StorageKind> kind_of(const StoredType& type) {
  const auto* ggml = std::get_if<GgmlType>(&type);
  for (const Row& row : kSupported)
    if (ggml != nullptr && row.ggml_id == ggml->id) return row.kind;
  return std::nullopt;
}

bool claims(const Module& module) {
  return module.weight != nullptr && std::holds_alternative<GgmlType>(module.weight->type);
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& /*claim*/) {
  const auto kind = kind_of(module.weight->type);
  if (!kind)
    return reject({.site = "gguf_blocks.type",
                   .where = where(*module.weight),
                   .expected = "a type of weights",
                   .got = describe(module.weight->type)});
  REJECT_IF(required.rows == 1, "gguf_blocks.vector", where(*module.weight), "floats for a vector",
            describe(module.weight->type));
  return bind_one_piece(*module.weight, required, {.kind = *kind});
}

}  // namespace

Packing gguf_blocks() { return {.name = "GGUF blocks", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
