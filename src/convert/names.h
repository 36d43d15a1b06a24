// What tensors are called in a target.
#pragma once

#include <string>
#include <vector>

#include "arch/architecture.h"
#include "convert/plan.h"
#include "model/model.h"

namespace motley::convert {

// The module of a role, in the words of a dialect: "model.layers.0.self_attn.q_proj", "blk.0.attn_q", "wq.0".
StatusOr<std::string> module_name(const model::Model& model, arch::Dialect dialect, const model::Role& role);

// ".weight" or ".bias" behind it.
std::string tensor_name(std::string_view module, model::Slot slot);

// Every weight of a model in the order of its network, named for a dialect, with the row order that pairs `to` need.
StatusOr<std::vector<PlannedWeight>> named_weights(const model::Model& model, arch::Dialect dialect,
                                                   model::RopePairs to);

// Embeddings and the head, which quantisers treat apart from the linear layers between them.
bool is_table(const PlannedWeight& weight);

}  // namespace motley::convert
