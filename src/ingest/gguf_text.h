// Vocabulary, chat templates, end tokens and sampling defaults from the keys of a GGUF file.
#pragma once

#include "base/status.h"
#include "ingest/container.h"
#include "ingest/gguf_file.h"

namespace motley::ingest {

// Fills `container.text` and `container.generation`. A file without tokenizer keys leaves the tokenizer empty.
Status read_gguf_text(const GgufFile& file, Container& container);

}  // namespace motley::ingest
