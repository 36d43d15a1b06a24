#include "ingest/foreign.h"

#include <array>

namespace motley::ingest {
namespace {

// Suffixes that only one format uses. Order: the more telling first.
struct Suffix {
  std::string_view suffix;
  std::string_view format;
  std::string_view instead;
};
constexpr std::array kSuffixes = {
    Suffix{".q_weight", "EXL2", "a GGUF or MLX conversion of the same model runs"},
    Suffix{".trellis", "EXL3", "a GGUF or MLX conversion of the same model runs"},
    Suffix{".codebooks", "AQLM", "a GPTQ or GGUF quantisation of the same model runs"},
    Suffix{".centroids.weight", "VPTQ", "a GPTQ or GGUF quantisation of the same model runs"},
    Suffix{".dense_weights", "SpQR", "a GPTQ or GGUF quantisation of the same model runs"},
    Suffix{".weight_g_idx_perm", "Marlin", "the checkpoint before it was repacked runs"},
    Suffix{".B", "Marlin", "the checkpoint before it was repacked runs"},
};

}  // namespace

Status refuse_foreign_quantisation(const Container& container) {
  if (container.metadata.dialect != arch::Dialect::kHuggingFace) return absl::OkStatus();
  for (const Tensor& tensor : container.tensors)
    for (const Suffix& row : kSuffixes)
      REJECT_IF(tensor.name.ends_with(row.suffix), "foreign.tensor",
                fmt::format("{} tensor {}", tensor.source->name(), tensor.name), "a packing that motley reads",
                fmt::format("{}, which it does not ({})", row.format, row.instead));
  return absl::OkStatus();
}

}  // namespace motley::ingest
