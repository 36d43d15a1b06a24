// Text assets and sampling defaults from the JSON files that Hugging Face and MLX checkpoints carry beside their
// weights.
#pragma once

#include "base/status.h"
#include "ingest/container.h"
#include "ingest/file_set.h"

namespace motley::ingest {

// Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json, generation_config.json and the chat template
// from `files`, and the end tokens that `container.metadata` names, into `container`. What is absent stays empty.
Status read_hugging_face_text(const FileSet& files, Container& container);

// config.json as the metadata of `container`, and what read_hugging_face_text() brings. Rejects
// ("hf_text.config_missing") a folder without config.json.
Status read_hugging_face_files(const FileSet& files, Container& container);

}  // namespace motley::ingest
