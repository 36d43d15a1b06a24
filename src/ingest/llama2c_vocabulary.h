// llama2.c's tokenizer.bin: scored pieces of a SentencePiece vocabulary, as many as the model says.
#pragma once

#include <cstdint>

#include "base/byte_source.h"
#include "base/status.h"
#include "model/text_assets.h"

namespace motley::ingest {

// Rejects a file that does not hold exactly `count` pieces.
StatusOr<model::Vocabulary> read_llama2c_vocabulary(const ByteSource& source, uint32_t count);

}  // namespace motley::ingest
