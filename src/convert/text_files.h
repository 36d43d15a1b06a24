// The files beside safetensors that say how text becomes ids: carried over where the source has them, written from its
// vocabulary where it holds one piece by piece.
#pragma once

#include <string>
#include <vector>

#include "convert/plan.h"
#include "model/model.h"

namespace motley::convert {

struct TextFiles {
  std::vector<PlannedFile> files;
  std::vector<std::string> notes;
};

// Safe on any source; errors are those of reading its files and of a vocabulary that makes no tokenizer.
StatusOr<TextFiles> hugging_face_text(const model::Model& model);

// The same, as files and notes of a plan that has none of its own yet.
Status add_text_files(const model::Model& model, Plan& plan);

}  // namespace motley::convert
