// GPTQ: int32 words of 4-bit codes down the columns, zero points one lower than they are (checkpoint_format "gptq"),
// f16 scales and a sorted g_idx, as AutoGPTQ, GPTQModel, transformers and vLLM read them. Layout: docs/formats.md.
// Only integers are carried over: this target does not quantise.
#include <algorithm>
#include <array>
#include <bit>

#include "convert/carry.h"
#include "convert/float_type.h"
#include "convert/hugging_face_config.h"
#include "convert/names.h"
#include "convert/safetensors_layout.h"
#include "convert/target.h"
#include "convert/text_files.h"

namespace motley::convert::targets_internal {
namespace {

using tensor::DType;

constexpr std::array<std::string_view, 4> kOptions = {"dtype", "group-size", "fallback", "shard-size"};
constexpr uint32_t kBits = 4;
constexpr uint64_t kWordCodes = 8;

bool is_linear(const PlannedWeight& weight) { return !is_vector(weight) && !is_table(weight); }

bool is_packed(const PlannedWeight& weight) { return weight.format.kind == tensor::StorageKind::kGrouped; }

std::string module_of(const PlannedWeight& weight) { return weight.name.substr(0, weight.name.rfind('.')); }

// One group size for all modules: the smallest that a linear layer of the source has.
uint32_t group_size_of(const std::vector<PlannedWeight>& weights) {
  uint32_t size = 0;
  for (const PlannedWeight& weight : weights) {
    if (!is_linear(weight)) continue;
    const uint32_t own = own_grid(weight.source->format, weight.source->cols).group_size;
    if (own != 0 && (size == 0 || own < size)) size = own;
  }
  return size;
}

class Planner {
 public:
  Planner(DType dtype, std::optional<DType> fallback, uint32_t group_size)
      : dtype_(dtype), fallback_(fallback), grid_{.bits = kBits, .group_size = group_size} {}

  Status decide(PlannedWeight& weight) {
    store_as(weight, float_format(dtype_));
    if (!is_linear(weight)) return absl::OkStatus();
    TRY(const Carry carry, carry_of(weight));
    const bool scales_fit = carry.scales_fit_f16 || carry.scales_fit_bf16;
    const bool fits = carry.possible && carry.zeros_fit_gptq && scales_fit;
    REJECT_IF(!fits && !fallback_, "convert.gptq_source", weight.name,
              fmt::format("integers of 4 bits in groups of {}, with zero points from 1 to 15 and 16-bit scales "
                          "(--fallback f16 leaves others unpacked)",
                          grid_.group_size),
              tensor::describe(weight.source->format));
    if (!fits) {
      store_as(weight, float_format(*fallback_));
      return absl::OkStatus();
    }
    weight.format = gptq_format(grid_.group_size, carry.scales_fit_f16 ? DType::kF16 : DType::kBF16);
    weight.method = Method::kCarryIntegers;
    symmetric_ = symmetric_ && carry.symmetric;
    return absl::OkStatus();
  }

  bool symmetric() const { return symmetric_; }

 private:
  StatusOr<Carry> carry_of(const PlannedWeight& weight) const {
    const model::Weight& source = *weight.source;
    const bool whole = grid_.group_size != 0 && source.cols % grid_.group_size == 0 && source.cols % kWordCodes == 0 &&
                       source.rows % kWordCodes == 0;
    if (!whole) return Carry{.possible = false};
    return try_carry(source, grid_);
  }

  DType dtype_;
  std::optional<DType> fallback_;
  IntegerGrid grid_;
  bool symmetric_ = true;
};

std::string group_index(uint64_t cols, uint32_t group_size) {
  std::string bytes;
  for (uint64_t k = 0; k < cols; ++k) {
    const auto number = std::bit_cast<std::array<char, 4>>(static_cast<int32_t>(k / group_size));
    bytes.append(number.data(), number.size());
  }
  return bytes;
}

void add_entries(PlannedWeight& weight, std::vector<SafetensorsEntry>& entries) {
  if (!is_packed(weight)) {
    entries.push_back(float_entry(weight));
    return;
  }
  const std::string module = module_of(weight);
  const uint64_t rows = weight.source->rows, cols = weight.source->cols, groups = cols / weight.format.group_size;
  entries.push_back(
      {module + ".qweight", "I32", {cols / kWordCodes, rows}, cols / kWordCodes * rows * 4, &weight.codes});
  entries.push_back(
      {module + ".qzeros", "I32", {groups, rows / kWordCodes}, groups * (rows / kWordCodes) * 4, &weight.offsets});
  entries.push_back({module + ".scales",
                     safetensors_name(weight.format.scale_dtype),
                     {groups, rows},
                     groups * rows * tensor::size_bytes(weight.format.scale_dtype),
                     &weight.scales});
  entries.push_back({module + ".g_idx", "I32", {cols}, cols * 4, nullptr, group_index(cols, weight.format.group_size)});
}

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) c == '.' ? out += "\\." : out += c;
  return out;
}

Json quantization(const std::vector<PlannedWeight>& weights, uint32_t group_size, bool symmetric) {
  Json json = Json::Object{{"quant_method", "gptq"},      {"bits", kBits},           {"group_size", group_size},
                           {"desc_act", false},           {"sym", symmetric},        {"lm_head", false},
                           {"checkpoint_format", "gptq"}, {"true_sequential", true}, {"damp_percent", 0.01},
                           {"static_groups", false}};
  Json plain;
  for (const PlannedWeight& weight : weights)
    if (is_linear(weight) && !is_packed(weight))
      plain.set(fmt::format("-:^{}$", escaped(module_of(weight))), Json::Object{});
  if (!plain.is_null()) json.set("dynamic", std::move(plain));
  return json;
}

StatusOr<std::optional<DType>> fallback_type(const model::Model& model, const Options& options) {
  if (!options.fallback) return std::optional<DType>();
  Options word;
  word.dtype = options.fallback;
  TRY(const DType dtype, float_type(model, word));
  return std::optional(dtype);
}

StatusOr<Plan> plan(const model::Model& model, const Options& options) {
  Plan plan;
  TRY(const DType dtype, float_type(model, options));
  TRY(const auto fallback, fallback_type(model, options));
  TRY(Json config, hugging_face_config(model, torch_name(dtype), "gptq"));
  TRY(plan.weights, named_weights(model, arch::Dialect::kHuggingFace, model::RopePairs::kHalfSplit));
  const uint32_t group_size = options.group_size.value_or(group_size_of(plan.weights));
  REJECT_IF(group_size == 0, "convert.gptq_groups", model.provenance.path,
            "a source with integers of 4 bits in groups (this target does not quantise)", "no integers");
  Planner planner(dtype, fallback, group_size);
  std::vector<SafetensorsEntry> entries;
  for (PlannedWeight& weight : plan.weights) {
    TRY(planner.decide(weight));
    add_entries(weight, entries);
  }
  const bool packed = std::any_of(plan.weights.begin(), plan.weights.end(), is_packed);
  REJECT_IF(!packed, "convert.gptq_nothing", model.provenance.path, "a source with integers of 4 bits", "none");
  const Json method = quantization(plan.weights, group_size, planner.symmetric());
  config.set("quantization_config", method);
  add_safetensors(std::move(entries), options.shard_size_bytes.value_or(kDefaultShardBytes), "pt", Index::kWhenSharded,
                  plan);
  plan.files.push_back(text_file("config.json", config.dump_pretty() + "\n"));
  plan.files.push_back(text_file("quantize_config.json", method.dump_pretty() + "\n"));
  TRY(add_text_files(model, plan));
  return plan;
}

}  // namespace

Target gptq() { return {.name = "gptq", .summary = "GPTQ, 4 bits", .options = kOptions, .plan = plan}; }

}  // namespace motley::convert::targets_internal
