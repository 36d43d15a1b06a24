// A model that is ready to answer: its text side and a runner with its weights.
#pragma once

#include <memory>
#include <vector>

#include "app/model_options.h"
#include "base/status.h"
#include "exec/runner.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace motley::app {

struct LoadedModel {
  std::shared_ptr<const model::Model> model;
  text::Tokenizer tokenizer;
  std::unique_ptr<exec::Runner> runner;
  double load_ms = 0;

  std::vector<int32_t> end_ids() const;
};

// A tokenizer whose ids the network has rows for. NotFound when the checkpoint has none.
StatusOr<text::Tokenizer> load_tokenizer(const model::Model& model);

// Shows on a terminal that it is at work. `context_tokens`: nullopt for the model's own, as far as memory allows.
StatusOr<std::unique_ptr<LoadedModel>> load_for_running(const ModelOptions& options, const ComputeOptions& compute,
                                                        std::optional<uint32_t> context_tokens);

// Lines for --verbose: what it is, where it runs, how long its context is and why.
std::vector<std::string> describe(const LoadedModel& loaded, std::optional<uint32_t> wanted_context_tokens);

}  // namespace motley::app
