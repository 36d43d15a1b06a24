// What `motley inspect` reports about a loaded checkpoint, from its Model alone: no weight is read. Humans get a
// rendering of it.
#pragma once

#include "base/json.h"
#include "model/model.h"

namespace motley::ingest {

enum class TensorList { kLeaveOut, kInclude };

// Keys, in order: path, container, architecture, files, spec, storage (one entry for each part and format: tensors,
// weights, bytes, bits_per_weight), bytes (total, bits_per_weight, embedding, head, final_norm, layers),
// kv_bytes_per_token (f16, f32), text, generation, ignored, notes, overrides, and tensors when asked for.
Json describe(const model::Model& model, TensorList tensors);

}  // namespace motley::ingest
