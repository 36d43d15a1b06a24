// What the files of the Llama family share. Not for anyone else.
#pragma once

#include "arch/architecture.h"
#include "arch/config_reader.h"
#include "model/spec.h"

namespace motley::arch::llama_family {

// The numbers from which every layer of this family is made.
struct Shape {
  uint32_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, feed_forward = 0, vocabulary = 0,
           context_tokens = 0;
  float norm_eps = 0;
  bool attention_bias = false, mlp_bias = false;
};

// Rejects a shape that cannot even be multiplied out; model::check() judges the rest later.
Status check_shape(const Shape& shape, std::string_view file);

// `layers` equal layers; the head is left for the caller.
model::Spec make_spec(const Shape& shape, const model::Rope& rope);

StatusOr<Description> describe_hugging_face(const Metadata& metadata, const Catalogue& tensors);
StatusOr<Description> describe_gguf(const Metadata& metadata, const Catalogue& tensors);
StatusOr<Description> describe_meta(const Metadata& metadata, const Catalogue& tensors);

// The configuration of the text network: config.json itself, or its text_config where a wrapper (image input) holds it.
const Json& text_tree(const Json& config);

}  // namespace motley::arch::llama_family
