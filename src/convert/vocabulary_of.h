// A tokenizer as a vocabulary stored piece by piece, which is how GGUF wants it: the way back from
// text/vocabulary.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"

namespace motley::convert {

// nullopt, with the reason in `notes`, when the tokenizer is none that can be said that way: no BPE, or one that splits
// texts as no pre-tokenizer with a name does. Padded with unused tokens up to the network's vocabulary.
// Errors: a tokenizer.json that is no JSON.
StatusOr<std::optional<model::Vocabulary>> vocabulary_of(const model::Model& model, std::vector<std::string>& notes);

}  // namespace motley::convert
