// What a target cannot say of a network, asked for by every target that writes a configuration.
#pragma once

#include "model/model.h"

namespace motley::convert {

// The parts of a network that are the same in all layers, as configurations of the llama family give them.
struct LlamaShape {
  model::SoftmaxAttention attention;
  model::DenseFeedForward feed_forward;
  float norm_eps = 0;
  std::vector<bool> windowed;  // by layer
  std::optional<uint32_t> window;
};

// Rejects networks whose layers differ in more than their window ("convert.uneven_layers"), and what no configuration
// of the family says: scaled embeddings or offset norms ("convert.scaled"), an attention scale or rotary dims other
// than the head dim gives ("convert.attention_scale", "convert.rotary_dims"), a bias of the head ("convert.head_bias").
StatusOr<LlamaShape> llama_shape(const model::Spec& spec, std::string_view target);

// A float as the shortest decimal that means it, so that 1e-5f is written 1e-05.
double shortest(float value);

// The Llama 3 scaling that gives these divisors (of rope_freqs.weight), to their last bit but one; nullopt when none
// that was ever published does.
std::optional<model::RopeLlama3> llama3_of_divisors(const model::Rope& rope);

// Divisors of the frequencies, as rope_freqs.weight holds them: of Llama 3's scaling.
std::vector<float> divisors_of(const model::Rope& rope);

}  // namespace motley::convert
