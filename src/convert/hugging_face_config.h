// config.json of a network of the llama family, written from its spec alone.
#pragma once

#include "base/json.h"
#include "model/model.h"

namespace motley::convert {

// Everything that shapes the network, with its special ids. `dtype`: what tensors that are not packed are stored as
// ("float16"). Rejects what transformers cannot be told: biases on a part of the projections of a block
// ("convert.partial_biases"), frequencies by divisors that no known scaling gives ("convert.divisors"), biases beside a
// window in every layer ("convert.window_biases"), and what llama_shape() rejects.
StatusOr<Json> hugging_face_config(const model::Model& model, std::string_view dtype, std::string_view target);

// "float16" for f16, …
std::string_view torch_name(tensor::DType dtype);

// One id as a number, several as a list; null when there is none.
Json end_token_ids(const model::TextAssets& text);

}  // namespace motley::convert
