#include "ingest/foreign.h"

#include <array>

namespace motley::ingest {
namespace {

// Suffixes that only one format uses. Order: the more telling first.
struct Suffix {
  std::string_view suffix;
  std::string_view format;
};
constexpr std::array kSuffixes = {
    Suffix{".weight.absmax", "bitsandbytes 4-bit"},
    Suffix{".SCB", "bitsandbytes LLM.int8"},
    Suffix{".qweight", "GPTQ or AWQ"},
    Suffix{".g_idx", "GPTQ"},
    Suffix{".weight_packed", "compressed-tensors"},
    Suffix{".weight_shape", "compressed-tensors"},
    Suffix{".weight_scale_inv", "FP8 in blocks"},
    Suffix{".weight_scale_2", "modelopt NVFP4"},
    Suffix{".weight_scale", "FP8 or int8 with scales"},
    Suffix{"_blocks", "MXFP4"},
    Suffix{".W_q", "HQQ"},
    Suffix{"._weight_qdata", "torchao"},
    Suffix{".weight._data", "quanto"},
    Suffix{".q_weight", "EXL2"},
    Suffix{".trellis", "EXL3"},
    Suffix{".codebooks", "AQLM"},
    Suffix{".qbiases", "the metal format of transformers"},
};

const Json* quantisation_of(const Json& config) {
  if (config.find_value("quantization") != nullptr) return nullptr;  // MLX; what else stands there is a copy
  for (const std::string_view key : {"quantization_config", "compression_config"})
    if (const Json* value = config.find_value(key)) return value;
  const Json* inner = config.find_value("text_config");
  return inner == nullptr ? nullptr : quantisation_of(*inner);
}

std::string method_of(const Json& quantisation) {
  const Json* method = quantisation.find_value("quant_method");
  if (method != nullptr && method->as_string() != nullptr) return *method->as_string();
  for (const std::string_view key : {"load_in_4bit", "_load_in_4bit", "load_in_8bit", "_load_in_8bit"})
    if (const Json* flag = quantisation.find_value(key); flag != nullptr && flag->as_bool() == true)
      return "bitsandbytes";
  return method == nullptr ? "" : method->dump();
}

}  // namespace

Status refuse_foreign_quantisation(const Container& container) {
  if (container.metadata.dialect != arch::Dialect::kHuggingFace) return absl::OkStatus();
  const Json* quantisation = quantisation_of(container.metadata.tree);
  const std::string method = quantisation == nullptr ? "" : method_of(*quantisation);
  REJECT_IF(!method.empty(), "foreign.method", fmt::format("{} key quantization_config", container.metadata.file),
            "floats, MLX affine or a GGUF file", fmt::format("{}, which motley does not read", method));
  for (const Tensor& tensor : container.tensors)
    for (const Suffix& row : kSuffixes)
      REJECT_IF(tensor.name.ends_with(row.suffix), "foreign.tensor",
                fmt::format("{} tensor {}", tensor.source->name(), tensor.name), "floats, MLX affine or a GGUF file",
                fmt::format("{}, which motley does not read", row.format));
  return absl::OkStatus();
}

}  // namespace motley::ingest
