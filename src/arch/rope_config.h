// Rotary position encoding as the two big dialects write it down, turned into model::Rope. Unknown kinds are refused by
// name.
#pragma once

#include <cstdint>

#include "arch/architecture.h"
#include "arch/config_reader.h"
#include "model/spec.h"

namespace motley::arch {

struct RopeShape {
  uint32_t head_dim = 0;
  uint32_t context_tokens = 0;
};

// `rope_theta` with `rope_scaling` (transformers 4), or `rope_parameters` (transformers 5); `rope_traditional`
// (mlx-lm).
StatusOr<model::Rope> rope_from_hugging_face(ConfigReader& config, const RopeShape& shape);

// `rope.freq_base`, `rope.scaling.*` and the tensor rope_freqs.weight, which is added to `used_tensors` when it is
// there.
StatusOr<model::Rope> rope_from_gguf(ConfigReader& config, const RopeShape& shape, const Catalogue& tensors,
                                     std::vector<std::string>& used_tensors);

}  // namespace motley::arch
