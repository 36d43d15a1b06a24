// Whether the text assets of a checkpoint belong to its network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/text_assets.h"

namespace motley::ingest {

// Rejects a vocabulary with more ids than the embedding has rows ("text.vocabulary"), and end tokens beyond it
// ("text.end_token"). Notes added tokens beyond it: a text that contains them is refused when it comes.
Status check_text(const model::TextAssets& text, uint64_t rows, std::vector<std::string>& notes);

}  // namespace motley::ingest
