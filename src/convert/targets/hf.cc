// Hugging Face: safetensors of floats, config.json and the tokenizer's files, as transformers and everything that reads
// its models expects them.
#include <array>

#include "convert/float_type.h"
#include "convert/hugging_face_config.h"
#include "convert/names.h"
#include "convert/safetensors_layout.h"
#include "convert/target.h"
#include "convert/text_files.h"

namespace motley::convert::targets_internal {
namespace {

constexpr std::array<std::string_view, 2> kOptions = {"dtype", "shard-size"};

StatusOr<Plan> plan(const model::Model& model, const Options& options) {
  Plan plan;
  TRY(const tensor::DType dtype, float_type(model, options));
  TRY(const Json config, hugging_face_config(model, torch_name(dtype), "hf"));
  TRY(plan.weights, named_weights(model, arch::Dialect::kHuggingFace, model::RopePairs::kHalfSplit));
  std::vector<SafetensorsEntry> entries;
  for (PlannedWeight& weight : plan.weights) {
    store_as(weight, float_format(dtype));
    entries.push_back(float_entry(weight));
  }
  add_safetensors(std::move(entries), options.shard_size_bytes.value_or(kDefaultShardBytes), "pt", Index::kWhenSharded,
                  plan);
  plan.files.push_back(text_file("config.json", config.dump_pretty() + "\n"));
  TRY(add_text_files(model, plan));
  return plan;
}

}  // namespace

Target hf() { return {.name = "hf", .summary = "Hugging Face safetensors", .options = kOptions, .plan = plan}; }

}  // namespace motley::convert::targets_internal
