#include "convert/names.h"

namespace motley::convert {

StatusOr<std::string> module_name(const model::Model& model, arch::Dialect dialect, const model::Role& role) {
  for (const arch::Architecture& architecture : arch::architectures()) {
    if (architecture.name != model.provenance.architecture) continue;
    const std::string canonical = architecture.module_name(dialect, role);
    const bool inner = dialect == arch::Dialect::kHuggingFace && role.part != model::Part::kHead;
    return inner ? "model." + canonical : canonical;
  }
  return absl::InternalError(fmt::format("no family \"{}\"", model.provenance.architecture));
}

std::string tensor_name(std::string_view module, model::Slot slot) {
  return fmt::format("{}.{}", module, slot == model::Slot::kWeight ? "weight" : "bias");
}

StatusOr<std::vector<PlannedWeight>> named_weights(const model::Model& model, arch::Dialect dialect,
                                                   model::RopePairs to) {
  std::vector<PlannedWeight> weights;
  for (const model::RequiredWeight& required : model::required_weights(model.spec)) {
    TRY(const std::string module, module_name(model, dialect, required.role));
    const auto found = model.weights.find(required.role);
    if (found == model.weights.end())
      return absl::InternalError(fmt::format("{}: not in the model", model::describe(required.role)));
    weights.push_back({.role = required.role,
                       .name = tensor_name(module, required.role.slot),
                       .source = &found->second,
                       .rows = row_order(model.spec, required.role, to),
                       .format = found->second.format});
  }
  return weights;
}

bool is_table(const PlannedWeight& weight) {
  return weight.role.part == model::Part::kEmbedding || weight.role.part == model::Part::kHead;
}

}  // namespace motley::convert
