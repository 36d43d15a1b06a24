#include "app/loaded_model.h"

#include <chrono>

#include "app/exit_status.h"
#include "app/short_source.h"
#include "app/status_line.h"
#include "base/folder.h"
#include "base/memory.h"
#include "fmt/ranges.h"

namespace motley::app {
namespace {

std::string context_reason(const LoadedModel& loaded, std::optional<uint32_t> wanted) {
  const uint32_t own = loaded.model->spec.context_tokens;
  if (wanted) return fmt::format("set by you; the model's own is {}", own);
  if (loaded.runner->limits().context_tokens == own) return "the model's own";
  return fmt::format("as memory allows; the model's own is {}", own);
}

std::string end_tokens(const LoadedModel& loaded) {
  std::vector<std::string> words;
  for (const model::EndToken& end : loaded.model->text.end_tokens)
    words.push_back(fmt::format("{} {} ({})", end.id, loaded.tokenizer.token(end.id).value_or("?"),
                                short_source(end.source, loaded.model->provenance.path)));
  return words.empty() ? "none: answers end by length" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<int32_t> LoadedModel::end_ids() const {
  std::vector<int32_t> ids;
  for (const model::EndToken& end : model->text.end_tokens) ids.push_back(end.id);
  return ids;
}

StatusOr<text::Tokenizer> load_tokenizer(const model::Model& model) {
  TRY(text::Tokenizer tokenizer, text::Tokenizer::load(model.text));
  TRY(tokenizer.check_rows(model.spec.vocabulary));
  return tokenizer;
}

StatusOr<std::unique_ptr<LoadedModel>> load_for_running(const ModelOptions& options, const ComputeOptions& compute,
                                                        std::optional<uint32_t> context_tokens) {
  TRY(exec::LocalOptions local, local_options(compute));
  if (context_tokens == 0u) return usage_error("--context: expected at least 1, got 0");
  local.context_tokens = context_tokens;
  const auto start = std::chrono::steady_clock::now();
  const Activity activity("Loading " + split_path(options.path).name);
  TRY(const auto model, load_model(options));
  // One after the other: reading a vocabulary needs 50 to 150 MB for a moment, which would count on top of the weights.
  TRY(text::Tokenizer tokenizer, load_tokenizer(*model));
  return_free_memory();
  TRY(std::unique_ptr<exec::Runner> runner, exec::make_local_runner(model, local));
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return std::make_unique<LoadedModel>(LoadedModel{model, std::move(tokenizer), std::move(runner), elapsed.count()});
}

std::vector<std::string> describe(const LoadedModel& loaded, std::optional<uint32_t> wanted_context_tokens) {
  const model::Provenance& from = loaded.model->provenance;
  const exec::Facts facts = loaded.runner->facts();
  std::vector<std::string> lines = {
      fmt::format("model: {} ({}, {})", from.path, from.container, from.architecture),
      fmt::format("device: {}, {} arithmetic, {:.1f} MB of weights", facts.device, precision_name(facts.precision),
                  static_cast<double>(facts.weight_bytes) / 1e6),
      fmt::format("context: {} tokens ({}), {} bytes of KV cache a token", loaded.runner->limits().context_tokens,
                  context_reason(loaded, wanted_context_tokens), facts.kv_bytes_per_token),
      "end tokens: " + end_tokens(loaded)};
  for (const std::string& text : from.overrides) lines.push_back("override: " + text);
  for (const std::string& note : from.notes) lines.push_back("note: " + note);
  return lines;
}

}  // namespace motley::app
