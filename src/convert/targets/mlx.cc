// MLX affine: packed codes with scales and biases, and the `quantization` object of config.json that mlx-lm loads by.
// Integers of the source are carried over where the arithmetic allows; everything else is rounded by mlx's own rule.
#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/numbers.h"
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

constexpr std::array<std::string_view, 6> kOptions = {"dtype",  "bits",     "group-size",
                                                      "module", "fallback", "shard-size"};
constexpr IntegerGrid kDefaultGrid = {.bits = 4, .group_size = 64};  // mlx_lm.convert -q
constexpr std::array<uint32_t, 6> kWidths = {2, 3, 4, 5, 6, 8};
constexpr std::array<uint32_t, 3> kGroups = {128, 64, 32};  // the largest first

template <typename List>
bool contains(const List& list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// What is to become of one module: a float type, or a grid.
struct Recipe {
  std::optional<DType> dtype;
  IntegerGrid grid = {};
};

StatusOr<DType> dtype_of(const std::string& word, const model::Model& model) {
  Options options;
  options.dtype = word;
  return float_type(model, options);
}

StatusOr<Recipe> parse_recipe(const std::string& text, const model::Model& model) {
  Recipe recipe;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    TRY(recipe.dtype, dtype_of(text, model));
    return recipe;
  }
  const bool numbers = absl::SimpleAtoi(text.substr(0, colon), &recipe.grid.bits) &&
                       absl::SimpleAtoi(text.substr(colon + 1), &recipe.grid.group_size);
  REJECT_IF(!numbers, "convert.recipe", "--module", "BITS:GROUP, such as 4:64", text);
  return recipe;
}

// The nearest grid that MLX has to the one in which a packed source lies.
IntegerGrid grid_like(const model::Weight& weight) {
  const IntegerGrid own = own_grid(weight.format, weight.cols);
  IntegerGrid grid = kDefaultGrid;
  // An own width of a format of tables or floats: what it stores, less its scales.
  const double stored_bits =
      8 * static_cast<double>(weight.stored_bytes()) / static_cast<double>(weight.rows * weight.cols);
  const double wanted = own.bits != 0 ? own.bits : stored_bits - 0.6;
  const auto width = std::find_if(kWidths.begin(), kWidths.end(), [&](uint32_t bits) { return bits >= wanted; });
  if (width != kWidths.end()) grid.bits = *width;
  if (width == kWidths.end()) grid.bits = kWidths.back();
  const auto group = std::find_if(kGroups.begin(), kGroups.end(),
                                  [&](uint32_t size) { return own.group_size % size == 0 && own.group_size != 0; });
  grid.group_size = group != kGroups.end() ? *group : 32;
  return grid;
}

class Planner {
 public:
  Planner(const model::Model& model, const Options& options, DType dtype)
      : model_(model), options_(options), dtype_(dtype) {
    for (const auto& [role, weight] : model.weights) packed_source_ = packed_source_ || is_packed(weight.format);
  }

  Status decide(PlannedWeight& weight) {
    TRY(const Recipe recipe, recipe_of(weight));
    if (recipe.dtype) {
      store_as(weight, float_format(*recipe.dtype));
      return absl::OkStatus();
    }
    const IntegerGrid grid = recipe.grid;
    REJECT_IF(!contains(kWidths, grid.bits) || !contains(kGroups, grid.group_size), "convert.mlx_grid", weight.name,
              "2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128",
              fmt::format("{} in {}", grid.bits, grid.group_size));
    const bool fits = weight.source->cols % grid.group_size == 0;
    REJECT_IF(!fits && !options_.fallback, "convert.mlx_cols", weight.name,
              fmt::format("inputs in groups of {} (--fallback f16 leaves it unpacked)", grid.group_size),
              weight.source->cols);
    return fits ? pack(weight, grid) : fall_back(weight);
  }

 private:
  static bool is_packed(const tensor::StorageFormat& format) {
    using enum tensor::StorageKind;
    return format.kind != kF32 && format.kind != kF16 && format.kind != kBF16;
  }

  StatusOr<Recipe> recipe_of(const PlannedWeight& weight) const {
    if (is_vector(weight)) return Recipe{.dtype = dtype_};
    const std::string module = weight.name.substr(0, weight.name.rfind('.'));
    for (auto rule = options_.modules.rbegin(); rule != options_.modules.rend(); ++rule)
      if (arch::glob_matches(rule->first, module)) return parse_recipe(rule->second, model_);
    const bool packed = is_packed(weight.source->format);
    if (!packed && packed_source_ && !options_.bits) return Recipe{.dtype = dtype_};
    Recipe recipe{.dtype = std::nullopt, .grid = packed ? grid_like(*weight.source) : kDefaultGrid};
    recipe.grid.bits = options_.bits.value_or(recipe.grid.bits);
    recipe.grid.group_size = options_.group_size.value_or(recipe.grid.group_size);
    return recipe;
  }

  Status fall_back(PlannedWeight& weight) {
    TRY(const DType dtype, dtype_of(*options_.fallback, model_));
    store_as(weight, float_format(dtype));
    return absl::OkStatus();
  }

  Status pack(PlannedWeight& weight, IntegerGrid grid) {
    const tensor::StorageFormat& own = weight.source->format;
    const bool same =
        own.kind == tensor::StorageKind::kMlxAffine && own.bits == grid.bits && own.group_size == grid.group_size;
    store_as(weight, mlx_format(grid, same ? own.scale_dtype : dtype_));
    if (same) return absl::OkStatus();
    TRY(const Carry carry, try_carry(*weight.source, grid));
    if (!carry.possible) return absl::OkStatus();
    weight.format = mlx_format(grid, mlx_scale_dtype(carry));
    weight.method = Method::kCarryIntegers;
    return absl::OkStatus();
  }

  const model::Model& model_;
  const Options& options_;
  DType dtype_;
  bool packed_source_ = false;
};

void add_entries(PlannedWeight& weight, std::vector<SafetensorsEntry>& entries) {
  if (weight.format.kind != tensor::StorageKind::kMlxAffine) {
    entries.push_back(float_entry(weight));
    return;
  }
  const std::string module = weight.name.substr(0, weight.name.rfind('.'));
  const uint64_t rows = weight.source->rows, cols = weight.source->cols, groups = cols / weight.format.group_size;
  const uint64_t words = cols * weight.format.bits / 32;
  const std::string_view dtype = safetensors_name(weight.format.scale_dtype);
  const uint64_t scale_bytes = rows * groups * tensor::size_bytes(weight.format.scale_dtype);
  entries.push_back({module + ".weight", "U32", {rows, words}, rows * words * 4, &weight.codes});
  entries.push_back({module + ".scales", dtype, {rows, groups}, scale_bytes, &weight.scales});
  entries.push_back({module + ".biases", dtype, {rows, groups}, scale_bytes, &weight.offsets});
}

Json grid_json(const tensor::StorageFormat& format) {
  return Json::Object{{"group_size", format.group_size}, {"bits", uint32_t{format.bits}}, {"mode", "affine"}};
}

// The grid that most modules have, and the modules with another one.
Json quantization(const std::vector<PlannedWeight>& weights) {
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, const tensor::StorageFormat*>> counts;
  for (const PlannedWeight& weight : weights)
    if (weight.format.kind == tensor::StorageKind::kMlxAffine) {
      auto& [count, format] = counts[{weight.format.bits, weight.format.group_size}];
      ++count;
      format = &weight.format;
    }
  if (counts.empty()) return {};
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  Json json = grid_json(*most->second.second);
  for (const PlannedWeight& weight : weights)
    if (weight.format.kind == tensor::StorageKind::kMlxAffine &&
        std::pair<uint32_t, uint32_t>(weight.format.bits, weight.format.group_size) != most->first)
      json.set(weight.name.substr(0, weight.name.rfind('.')), grid_json(weight.format));
  return json;
}

StatusOr<Plan> plan(const model::Model& model, const Options& options) {
  Plan plan;
  TRY(const DType dtype, float_type(model, options));
  TRY(Json config, hugging_face_config(model, torch_name(dtype), "mlx"));
  TRY(plan.weights, named_weights(model, arch::Dialect::kHuggingFace, model::RopePairs::kHalfSplit));
  Planner planner(model, options, dtype);
  std::vector<SafetensorsEntry> entries;
  for (PlannedWeight& weight : plan.weights) {
    TRY(planner.decide(weight));
    add_entries(weight, entries);
  }
  const Json packed = quantization(plan.weights);
  if (!packed.is_null()) config.set("quantization", packed);
  if (!packed.is_null()) config.set("quantization_config", packed);
  add_safetensors(std::move(entries), options.shard_size_bytes.value_or(kDefaultShardBytes), "mlx", Index::kAlways,
                  plan);
  plan.files.push_back(text_file("config.json", config.dump_pretty() + "\n"));
  TRY(add_text_files(model, plan));
  return plan;
}

}  // namespace

Target mlx() { return {.name = "mlx", .summary = "MLX affine", .options = kOptions, .plan = plan}; }

}  // namespace motley::convert::targets_internal
