// llama2.c: a folder with model.bin in one of its three versions and tokenizer.bin. The container holds no rope_theta,
// no norm_eps and no scaling; llama2.c has constants for them. Layouts: docs/formats.md.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "convert/integer_rows.h"
#include "convert/names.h"
#include "convert/spec_limits.h"
#include "convert/target.h"
#include "convert/text_files.h"
#include "convert/vocabulary_of.h"

namespace motley::convert::targets_internal {
namespace {

using model::Part;

constexpr std::array<std::string_view, 2> kOptions = {"version", "force"};

constexpr double kTheta = 10000;  // run.c
constexpr float kEps = 1e-5f;     // run.c, rmsnorm
constexpr uint32_t kMagic = 0x616b3432;
constexpr uint64_t kHeaderBytes = 256;  // of versions 1 and 2
constexpr uint32_t kLargestGroup = 64;  // export.py begins there and halves
constexpr std::string_view kWhere = "llama2c";

// Matrices and norms in the order of each version; one array holds a part of all layers.
constexpr auto kOrder0 =
    std::to_array<Part>({Part::kEmbedding, Part::kMixerNorm, Part::kQ, Part::kK, Part::kV, Part::kO,
                         Part::kFeedForwardNorm, Part::kGate, Part::kDown, Part::kUp, Part::kFinalNorm});
constexpr auto kOrder1 =
    std::to_array<Part>({Part::kMixerNorm, Part::kFeedForwardNorm, Part::kFinalNorm, Part::kEmbedding, Part::kQ,
                         Part::kK, Part::kV, Part::kO, Part::kGate, Part::kDown, Part::kUp, Part::kHead});

template <typename T>
void append(std::string& out, T value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  out.append(bytes.data(), bytes.size());
}

std::string sizes(const model::Spec& spec, const LlamaShape& shape, bool negative_vocabulary) {
  std::string out;
  const auto vocabulary = static_cast<int32_t>(spec.vocabulary);
  for (const int32_t value :
       {static_cast<int32_t>(spec.hidden), static_cast<int32_t>(shape.feed_forward.width),
        static_cast<int32_t>(spec.layers.size()), static_cast<int32_t>(shape.attention.heads),
        static_cast<int32_t>(shape.attention.kv_heads), negative_vocabulary ? -vocabulary : vocabulary,
        static_cast<int32_t>(spec.context_tokens)})
    append(out, value);
  return out;
}

// Refused whatever a person says: the layout has no place for it.
Status check_shape(const model::Spec& spec, const LlamaShape& shape) {
  const auto& attention = shape.attention;
  REJECT_IF(attention.head_dim * attention.heads != spec.hidden, "convert.llama2c_heads", kWhere,
            fmt::format("{} heads that make up the hidden size {}", attention.heads, spec.hidden),
            fmt::format("a head dim of {}", attention.head_dim));
  const bool biased = attention.q_bias || attention.k_bias || attention.v_bias || attention.o_bias ||
                      shape.feed_forward.gate_bias || shape.feed_forward.up_bias || shape.feed_forward.down_bias;
  REJECT_IF(biased, "convert.llama2c_bias", kWhere, "no biases (the container has no place for them)", "biases");
  return absl::OkStatus();
}

// What the container cannot say; with --force it is left to the person who runs it.
Status check_constants(const LlamaShape& shape, bool force, std::vector<std::string>& notes) {
  const model::Rope& rope = *shape.attention.rope;
  const bool scaled = !std::holds_alternative<model::RopeUnscaled>(rope.scaling);
  REJECT_IF(rope.theta != kTheta && !force, "convert.llama2c_theta", kWhere,
            "rope_theta 10000, which llama2.c computes with (--force writes it all the same)", rope.theta);
  REJECT_IF(shape.norm_eps != kEps && !force, "convert.llama2c_eps", kWhere,
            "norm_eps 1e-05, which llama2.c computes with (--force writes it all the same)", shape.norm_eps);
  REJECT_IF(scaled && !force, "convert.llama2c_scaling", kWhere,
            "no RoPE scaling, which llama2.c does not compute (--force writes it all the same)", "a scaling");
  REJECT_IF(shape.window && !force, "convert.llama2c_window", kWhere,
            "no window, which llama2.c does not compute (--force writes it all the same)", *shape.window);
  if (rope.theta != kTheta) notes.push_back(fmt::format("run it with --override rope_theta={}", rope.theta));
  if (shape.norm_eps != kEps) notes.push_back(fmt::format("run it with --override norm_eps={}", shape.norm_eps));
  if (scaled) notes.emplace_back("its RoPE scaling is lost: what llama2.c computes differs");
  if (shape.window) notes.emplace_back("its window is lost: what llama2.c computes differs on longer texts");
  return absl::OkStatus();
}

// run.c skips these tables; export.py writes the cosines and sines of every position.
std::string frequency_tables(const model::Spec& spec, const LlamaShape& shape) {
  const auto frequencies = model::rope_frequencies(*shape.attention.rope).radians_per_position;
  std::string cosines, sines;
  for (uint32_t position = 0; position < spec.context_tokens; ++position) {
    for (const double radians : frequencies) {
      append(cosines, static_cast<float>(std::cos(position * radians)));
      append(sines, static_cast<float>(std::sin(position * radians)));
    }
  }
  return cosines + sines;
}

class Layout {
 public:
  Layout(std::vector<PlannedWeight>& weights, PlannedFile& file) : weights_(weights), file_(file) {}

  void add_fixed(std::string bytes) {
    const uint64_t size_bytes = bytes.size();
    file_.fixed.push_back({.offset = file_.size_bytes, .bytes = std::move(bytes)});
    file_.size_bytes += size_bytes;
  }

  // The arrays of `part` of all layers; its scales behind each where it has some.
  Status add_part(Part part) {
    for (PlannedWeight& weight : weights_) {
      if (weight.role.part != part) continue;
      TRY(const quant::PartBytes bytes,
          quant::part_bytes(weight.format, weight.source->rows, weight.source->cols, weight.name));
      weight.codes = {.file = 0, .offset = file_.size_bytes};
      weight.scales = {.file = 0, .offset = file_.size_bytes + bytes.codes};
      file_.size_bytes += bytes.codes + bytes.scales;
    }
    return absl::OkStatus();
  }

 private:
  std::vector<PlannedWeight>& weights_;
  PlannedFile& file_;
};

// The largest group that divides every row, so that none runs into the next.
uint32_t group_size_of(const model::Spec& spec, const LlamaShape& shape) {
  uint32_t size = kLargestGroup;
  while (size > 1 && (spec.hidden % size != 0 || shape.feed_forward.width % size != 0)) size /= 2;
  return size;
}

std::string header(uint32_t version, const model::Spec& spec, const LlamaShape& shape, uint32_t group_size) {
  if (version == 0) return sizes(spec, shape, !spec.head.tied);
  std::string out;
  append(out, kMagic);
  append(out, static_cast<int32_t>(version));
  out += sizes(spec, shape, false);
  out += static_cast<char>(spec.head.tied);
  if (version == 2) append(out, static_cast<int32_t>(group_size));
  out.resize(kHeaderBytes, '\0');
  return out;
}

Status lay_out(uint32_t version, const model::Spec& spec, const LlamaShape& shape, Plan& plan) {
  const uint32_t group_size = group_size_of(spec, shape);
  for (PlannedWeight& weight : plan.weights)
    store_as(weight, version == 2 && !is_vector(weight) ? llama2c_int8_format(group_size) : tensor::StorageFormat{});
  Layout layout(plan.weights, plan.files.front());
  layout.add_fixed(header(version, spec, shape, group_size));
  if (version != 0) {
    for (const Part part : kOrder1) TRY(layout.add_part(part));
    return absl::OkStatus();
  }
  for (const Part part : kOrder0) TRY(layout.add_part(part));
  layout.add_fixed(frequency_tables(spec, shape));
  return layout.add_part(Part::kHead);
}

std::string with_plain_spaces(std::string_view piece) {
  constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581
  std::string out;
  while (!piece.empty()) {
    const bool space = piece.starts_with(kSpace);
    out += space ? ' ' : piece.front();
    piece.remove_prefix(space ? kSpace.size() : 1);
  }
  return out;
}

// export.py wraps BOS and EOS in line breaks.
std::string stored_piece(const model::Vocabulary& vocabulary, size_t id) {
  const bool control = vocabulary.types[id] == model::Vocabulary::TokenType::kControl;
  return control ? fmt::format("\n{}\n", vocabulary.tokens[id]) : with_plain_spaces(vocabulary.tokens[id]);
}

std::string tokenizer_bin(const model::Vocabulary& vocabulary) {
  std::string pieces;
  size_t longest = 1;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string piece = stored_piece(vocabulary, id);
    append(pieces, vocabulary.scores[id]);
    append(pieces, static_cast<int32_t>(piece.size()));
    pieces += piece;
    longest = std::max(longest, piece.size());
  }
  std::string out;
  append(out, static_cast<int32_t>(longest));
  return out + pieces;
}

// llama2.c knows SentencePiece vocabularies with BOS 1, EOS 2 and the bytes from 3; motley reads a tokenizer.json too.
bool fits_tokenizer_bin(const model::Vocabulary& vocabulary, uint32_t count) {
  using Type = model::Vocabulary::TokenType;
  return vocabulary.kind == model::Vocabulary::Kind::kSentencePiece && vocabulary.tokens.size() == count &&
         count > 258 && vocabulary.types[1] == Type::kControl && vocabulary.types[2] == Type::kControl &&
         vocabulary.types[3] == Type::kByte && vocabulary.types[258] == Type::kByte;
}

Status add_text(const model::Model& model, Plan& plan) {
  std::vector<std::string> reasons;
  TRY(const auto vocabulary, vocabulary_of(model, reasons));
  if (vocabulary && fits_tokenizer_bin(*vocabulary, model.spec.vocabulary)) {
    plan.files.push_back(text_file("tokenizer.bin", tokenizer_bin(*vocabulary)));
    return absl::OkStatus();
  }
  TRY(TextFiles text, hugging_face_text(model));
  std::move(text.files.begin(), text.files.end(), std::back_inserter(plan.files));
  plan.notes.insert(plan.notes.end(), text.notes.begin(), text.notes.end());
  plan.notes.emplace_back("no tokenizer.bin: the source's vocabulary is not the one that llama2.c knows");
  return absl::OkStatus();
}

StatusOr<Plan> plan(const model::Model& model, const Options& options) {
  const uint32_t version = options.version.value_or(0);
  REJECT_IF(version > 2, "convert.llama2c_version", "--version", "0, 1 or 2", version);
  TRY(const LlamaShape shape, llama_shape(model.spec, kWhere));
  TRY(check_shape(model.spec, shape));
  Plan plan;
  TRY(check_constants(shape, options.force, plan.notes));
  TRY(plan.weights, named_weights(model, arch::Dialect::kLlama2c, model::RopePairs::kInterleaved));
  plan.files.push_back({.name = "model.bin", .fixed = {}, .size_bytes = 0});
  TRY(lay_out(version, model.spec, shape, plan));
  TRY(add_text(model, plan));
  return plan;
}

}  // namespace

Target llama2c() {
  return {.name = "llama2c", .summary = "llama2.c's model.bin and tokenizer.bin", .options = kOptions, .plan = plan};
}

}  // namespace motley::convert::targets_internal
