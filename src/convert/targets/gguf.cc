// GGUF for llama.cpp and its kin: architecture llama, rows of Q and K interleaved, norms and biases in f32, the
// tokenizer and the chat template as metadata. Blocks of the same type are carried over; rows that move take theirs
// along.
#include <algorithm>
#include <array>
#include <cmath>

#include "convert/carry.h"
#include "convert/gguf_writer.h"
#include "convert/names.h"
#include "convert/spec_limits.h"
#include "convert/target.h"
#include "convert/vocabulary_of.h"
#include "quant/stored_matrix.h"

namespace motley::convert::targets_internal {
namespace {

using tensor::StorageKind;

constexpr std::array<std::string_view, 2> kOptions = {"type", "fallback"};

// ggml's number of a type, and the number of llama.cpp for a file of mostly that type. Types that can be asked for have
// a word.
struct TypeRow {
  StorageKind kind;
  uint32_t type, file_type;
  std::string_view word;
};
constexpr auto kTypes = std::to_array<TypeRow>(
    {{StorageKind::kF32, 0, 0, "F32"},     {StorageKind::kF16, 1, 1, "F16"},     {StorageKind::kBF16, 30, 32, "BF16"},
     {StorageKind::kQ8_0, 8, 7, "Q8_0"},   {StorageKind::kQ4_0, 2, 2, "Q4_0"},   {StorageKind::kQ4_1, 3, 3, "Q4_1"},
     {StorageKind::kQ6_K, 14, 18, "Q6_K"}, {StorageKind::kQ4_K, 12, 14, "Q4_K"}, {StorageKind::kQ5_0, 6, 8, ""},
     {StorageKind::kQ5_1, 7, 9, ""},       {StorageKind::kQ2_K, 10, 10, ""},     {StorageKind::kQ3_K, 11, 11, ""},
     {StorageKind::kQ5_K, 13, 16, ""},     {StorageKind::kIQ2_XXS, 16, 19, ""},  {StorageKind::kIQ2_XS, 17, 20, ""},
     {StorageKind::kIQ3_XXS, 18, 23, ""},  {StorageKind::kIQ1_S, 19, 24, ""},    {StorageKind::kIQ4_NL, 20, 25, ""},
     {StorageKind::kIQ3_S, 21, 26, ""},    {StorageKind::kIQ2_S, 22, 28, ""},    {StorageKind::kIQ4_XS, 23, 30, ""},
     {StorageKind::kIQ1_M, 29, 31, ""},    {StorageKind::kTQ1_0, 34, 36, ""},    {StorageKind::kTQ2_0, 35, 37, ""}});

const TypeRow* row_of(StorageKind kind) {
  const auto* row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& r) { return r.kind == kind; });
  return row == kTypes.end() ? nullptr : row;
}

StatusOr<const TypeRow*> row_of_word(std::string_view option, std::string_view word) {
  for (const TypeRow& row : kTypes)
    if (!row.word.empty() && row.word == word) return &row;
  return reject({.site = "convert.gguf_type",
                 .where = std::string(option),
                 .expected = "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q6_K or Q4_K",
                 .got = std::string(word)});
}

// Whether the integers of a source lie in blocks of `kind` as they are.
StatusOr<bool> holds_integers(StorageKind kind, const model::Weight& source) {
  if (kind != StorageKind::kQ4_0 && kind != StorageKind::kQ4_1 && kind != StorageKind::kQ8_0) return false;
  TRY(const Carry carry, try_carry(source, own_grid({.kind = kind}, source.cols)));
  if (!carry.possible || !carry.scales_fit_f16) return false;
  return kind == StorageKind::kQ4_1 ? carry.biases_fit_f16 : carry.symmetric;
}

// The smallest block that holds a source of other packings exactly; F16 when there is none.
StatusOr<StorageKind> kind_like(const model::Weight& source) {
  for (const StorageKind kind : {StorageKind::kQ4_0, StorageKind::kQ4_1, StorageKind::kQ8_0}) {
    TRY(const bool holds, holds_integers(kind, source));
    if (holds) return kind;
  }
  return StorageKind::kF16;
}

// The type of each matrix: the one asked for, or its own where it has one here, or one that holds its integers.
StatusOr<StorageKind> kind_of(const PlannedWeight& weight, const Options& options) {
  if (is_vector(weight)) return StorageKind::kF32;
  if (!options.type) {
    const bool own = row_of(weight.source->format.kind) != nullptr && !weight.source->outer_scales;
    if (own) return weight.source->format.kind;
    return kind_like(*weight.source);
  }
  TRY(const TypeRow* asked, row_of_word("--type", *options.type));
  const auto fits = quant::row_bytes({.kind = asked->kind}, weight.source->cols, weight.name);
  if (fits.ok()) return asked->kind;
  if (!options.fallback)
    return annotate(fits.status(), fmt::format("{} (--fallback TYPE stores it in another type)", *options.type));
  TRY(const TypeRow* other, row_of_word("--fallback", *options.fallback));
  return other->kind;
}

// --- keys

struct ScalingKeys {
  GgufKeys& keys;

  Status operator()(const model::RopeUnscaled& /*none*/) const { return absl::OkStatus(); }
  Status operator()(const model::RopeLinear& linear) const {
    keys.add("llama.rope.scaling.type", "linear");
    keys.add_f32("llama.rope.scaling.factor", static_cast<float>(linear.factor));
    return absl::OkStatus();
  }
  Status operator()(const model::RopeLlama3& /*tensor*/) const { return absl::OkStatus(); }
  Status operator()(const model::RopeDivisors& /*tensor*/) const { return absl::OkStatus(); }
  Status operator()(const model::RopeYarn& yarn) const {
    REJECT_IF(!yarn.truncate, "convert.gguf_yarn", "gguf", "YaRN with truncated borders", "truncate false");
    // ggml multiplies the file's factor by 0.1 ln(s) + 1.
    const double own = yarn.factor <= 1 ? 1 : 0.1 * std::log(yarn.factor) + 1;
    keys.add("llama.rope.scaling.type", "yarn");
    keys.add_f32("llama.rope.scaling.factor", static_cast<float>(yarn.factor));
    keys.add_u32("llama.rope.scaling.original_context_length", yarn.original_context);
    keys.add_f32("llama.rope.scaling.attn_factor", static_cast<float>(yarn.attention_factor / own));
    keys.add_f32("llama.rope.scaling.yarn_beta_fast", static_cast<float>(yarn.beta_fast));
    keys.add_f32("llama.rope.scaling.yarn_beta_slow", static_cast<float>(yarn.beta_slow));
    return absl::OkStatus();
  }
};

Status add_network_keys(const model::Model& model, const LlamaShape& shape, GgufKeys& keys) {
  const model::Rope& rope = *shape.attention.rope;
  keys.add_u32("llama.vocab_size", model.spec.vocabulary);
  keys.add_u32("llama.context_length", model.spec.context_tokens);
  keys.add_u32("llama.embedding_length", model.spec.hidden);
  keys.add_u32("llama.block_count", static_cast<uint32_t>(model.spec.layers.size()));
  keys.add_u32("llama.feed_forward_length", shape.feed_forward.width);
  keys.add_u32("llama.attention.head_count", shape.attention.heads);
  keys.add_u32("llama.attention.head_count_kv", shape.attention.kv_heads);
  keys.add_u32("llama.attention.key_length", shape.attention.head_dim);
  keys.add_u32("llama.attention.value_length", shape.attention.head_dim);
  keys.add_f32("llama.attention.layer_norm_rms_epsilon", shape.norm_eps);
  keys.add_u32("llama.rope.dimension_count", rope.rotary_dims);
  keys.add_f32("llama.rope.freq_base", static_cast<float>(rope.theta));
  if (shape.window) keys.add_u32("llama.attention.sliding_window", *shape.window);
  return std::visit(ScalingKeys{keys}, rope.scaling);
}

std::optional<uint32_t> id_of(const model::Vocabulary& vocabulary, const std::optional<std::string>& token) {
  if (!token) return std::nullopt;
  const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), *token);
  if (found == vocabulary.tokens.end()) return std::nullopt;
  return static_cast<uint32_t>(found - vocabulary.tokens.begin());
}

void add_special(const model::Vocabulary& vocabulary, std::string_view name, const std::optional<std::string>& token,
                 GgufKeys& keys) {
  const auto id = id_of(vocabulary, token);
  if (id) keys.add_u32(fmt::format("tokenizer.ggml.{}_token_id", name), *id);
}

// EOS is what the source calls so, or the first token that ends generation; another one becomes the end of a turn.
void add_ends(const model::Model& model, const model::Vocabulary& vocabulary, GgufKeys& keys) {
  const auto& ends = model.text.end_tokens;
  const auto named = id_of(vocabulary, model.text.eos_token);
  const auto eos = named ? named : ends.empty() ? std::nullopt : std::optional(static_cast<uint32_t>(ends.front().id));
  if (eos) keys.add_u32("tokenizer.ggml.eos_token_id", *eos);
  for (const model::EndToken& end : ends)
    if (static_cast<uint32_t>(end.id) != eos && end.id != model.text.bos_id) {
      keys.add_u32("tokenizer.ggml.eot_token_id", static_cast<uint32_t>(end.id));
      return;
    }
}

void add_vocabulary(const model::Model& model, const model::Vocabulary& vocabulary, GgufKeys& keys) {
  const bool bpe = vocabulary.kind == model::Vocabulary::Kind::kByteLevelBpe;
  std::vector<int32_t> types;
  types.reserve(vocabulary.types.size());
  for (const auto type : vocabulary.types) types.push_back(static_cast<int32_t>(type));
  keys.add("tokenizer.ggml.model", bpe ? "gpt2" : "llama");
  keys.add("tokenizer.ggml.pre", bpe ? vocabulary.pre_tokenizer : "default");
  keys.add_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  keys.add_ints("tokenizer.ggml.token_type", types);
  if (bpe) keys.add_strings("tokenizer.ggml.merges", vocabulary.merges);
  if (!bpe) keys.add_floats("tokenizer.ggml.scores", vocabulary.scores);
  if (!bpe) keys.add_bool("tokenizer.ggml.add_space_prefix", vocabulary.add_space_prefix);
  add_special(vocabulary, "bos", model.text.bos_token, keys);
  add_special(vocabulary, "unknown", model.text.unk_token, keys);
  add_special(vocabulary, "padding", model.text.pad_token, keys);
  add_ends(model, vocabulary, keys);
  keys.add_bool("tokenizer.ggml.add_bos_token", model.text.add_bos.value_or(!bpe));
  keys.add_bool("tokenizer.ggml.add_eos_token", model.text.add_eos.value_or(false));
}

void add_templates(const model::TextAssets& text, GgufKeys& keys) {
  for (const auto& [name, source] : text.chat_templates)
    keys.add(name == "default" ? "tokenizer.chat_template" : fmt::format("tokenizer.chat_template.{}", name), source);
}

StatusOr<GgufKeys> keys_of(const model::Model& model, const LlamaShape& shape, const Options& options, Plan& plan) {
  GgufKeys keys;
  keys.add("general.architecture", "llama");
  keys.add("general.type", "model");
  keys.add_u32("general.quantization_version", 2);
  if (options.type) {
    TRY(const TypeRow* row, row_of_word("--type", *options.type));
    keys.add_u32("general.file_type", row->file_type);
  }
  TRY(add_network_keys(model, shape, keys));
  TRY(const auto vocabulary, vocabulary_of(model, plan.notes));
  if (!vocabulary) keys.add("tokenizer.ggml.model", "none");
  if (vocabulary) add_vocabulary(model, *vocabulary, keys);
  add_templates(model.text, keys);
  return keys;
}

// --- tensors

// Llama 3's scaling has no keys: the divisors of its frequencies are a tensor.
std::string rope_divisors(const model::Rope& rope) {
  std::vector<float> divisors;
  if (std::holds_alternative<model::RopeLlama3>(rope.scaling)) divisors = divisors_of(rope);
  if (const auto* given = std::get_if<model::RopeDivisors>(&rope.scaling)) divisors = given->divisors;
  return {reinterpret_cast<const char*>(divisors.data()), divisors.size() * sizeof(float)};
}

StatusOr<GgufTensor> tensor_of(const PlannedWeight& weight) {
  TRY(const quant::PartBytes bytes,
      quant::part_bytes(weight.format, weight.source->rows, weight.source->cols, weight.name));
  const uint64_t rows = weight.source->rows, cols = weight.source->cols;
  return GgufTensor{.name = weight.name,
                    .shape = is_vector(weight) ? std::vector{cols} : std::vector{rows, cols},
                    .type = row_of(weight.format.kind)->type,
                    .size_bytes = bytes.codes};
}

Status lay_out(const GgufKeys& keys, const std::string& divisors, Plan& plan) {
  std::vector<GgufTensor> tensors;
  for (const PlannedWeight& weight : plan.weights) {
    TRY(GgufTensor tensor, tensor_of(weight));
    tensors.push_back(std::move(tensor));
  }
  if (!divisors.empty())
    tensors.push_back({.name = "rope_freqs.weight",
                       .shape = {divisors.size() / sizeof(float)},
                       .type = 0,
                       .size_bytes = divisors.size()});
  PlannedFile file{.name = "model.gguf", .fixed = {{.offset = 0, .bytes = gguf_header(keys, tensors)}}};
  for (size_t i = 0; i < plan.weights.size(); ++i) plan.weights[i].codes = {.file = 0, .offset = tensors[i].offset};
  if (!divisors.empty()) file.fixed.push_back({.offset = tensors.back().offset, .bytes = divisors});
  const uint64_t end = tensors.back().offset + tensors.back().size_bytes;
  const std::string padding((kGgufAlignment - end % kGgufAlignment) % kGgufAlignment, '\0');
  file.fixed.push_back({.offset = end, .bytes = padding});
  file.size_bytes = end + padding.size();
  plan.files.push_back(std::move(file));
  return absl::OkStatus();
}

Status check_window(const LlamaShape& shape) {
  const bool everywhere = std::find(shape.windowed.begin(), shape.windowed.end(), false) == shape.windowed.end();
  REJECT_IF(shape.window && !everywhere, "convert.gguf_window", "gguf", "a window in every layer or in none",
            "in some");
  return absl::OkStatus();
}

StatusOr<Plan> plan(const model::Model& model, const Options& options) {
  Plan plan{.shape = TargetShape::kFile};
  TRY(const LlamaShape shape, llama_shape(model.spec, "gguf"));
  TRY(check_window(shape));
  TRY(plan.weights, named_weights(model, arch::Dialect::kGguf, model::RopePairs::kInterleaved));
  for (PlannedWeight& weight : plan.weights) {
    TRY(const StorageKind kind, kind_of(weight, options));
    store_as(weight, {.kind = kind});
    if (weight.method != Method::kRound || is_vector(weight)) continue;
    TRY(const bool carried, holds_integers(kind, *weight.source));
    if (carried) weight.method = Method::kCarryIntegers;
  }
  TRY(const GgufKeys keys, keys_of(model, shape, options, plan));
  TRY(lay_out(keys, rope_divisors(*shape.attention.rope), plan));
  return plan;
}

}  // namespace

Target gguf() { return {.name = "gguf", .summary = "GGUF", .options = kOptions, .plan = plan}; }

}  // namespace motley::convert::targets_internal
