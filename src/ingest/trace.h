// What was bound, from file to first token, as one report: nothing in it comes from a table of names.
#pragma once

#include <optional>

#include "base/json.h"
#include "ingest/number_check.h"
#include "model/model.h"

namespace motley::ingest {

// The device that would run the model.
struct TraceBackend {
  std::string name;  // "CPU, 2 threads, avx2"
  bool ready = false;
  std::string arithmetic;  // "fast"
  uint64_t kv_element_bytes = 2;
};

// Sections model, backend, decoder, tokenizer, tensors, weights, kv_cache, actions, warnings. Without `check` the
// finite check says "not done".
Json trace(const model::Model& model, const TraceBackend& backend, const std::optional<NumberCheck>& check);

}  // namespace motley::ingest
