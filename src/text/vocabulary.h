// Turns a vocabulary that is stored piece by piece into the tokenizer.json that says the same. Not for reading files.
#pragma once

#include <string>

#include "base/status.h"
#include "model/text_assets.h"

namespace motley::text {

// Control tokens become special added tokens, user-defined ones added tokens that are not special.
// Byte-level BPE: merges as stored, splits by the pre-tokenizer's name (pre_tokenizers.def).
// SentencePiece: the merges that the file leaves out are made from the scores, in the order of transformers' conversion
// (tokenization_utils_base.generate_merges); byte pieces are the fallback for characters without a piece.
// Errors: InvalidArgument naming the file and the token or merge.
StatusOr<std::string> tokenizer_json_of(const model::Vocabulary& vocabulary);

// Whether texts begin with BOS when the checkpoint does not say: SentencePiece does, BPE by its pre-tokenizer.
bool adds_bos_by_default(const model::Vocabulary& vocabulary);

}  // namespace motley::text
