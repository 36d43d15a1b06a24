// Options that commands share: which model, and how it is to be computed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/arguments.h"
#include "base/status.h"
#include "exec/local.h"
#include "model/model.h"

namespace motley::app {

struct ModelOptions {
  std::string path;
  std::vector<std::string> overrides;  // KEY=VALUE
  std::optional<std::string> chat_template_file;
};

// MODEL, --override and --chat-template.
void add_model_options(Arguments& command, ModelOptions& options);

// Headers and text only; nothing of the weights is read.
StatusOr<std::shared_ptr<const model::Model>> load_model(const ModelOptions& options);

struct ComputeOptions {
  std::optional<uint32_t> threads;
  exec::Precision precision = exec::Precision::kFast;
  std::string instruction_set;
  bool lock_memory = false;
};

// --threads, --precision, --instruction-set (or MOTLEY_INSTRUCTION_SET) and --mlock.
void add_compute_options(Arguments& command, ComputeOptions& options);

// Usage errors for values that make no sense on any machine.
StatusOr<exec::LocalOptions> local_options(const ComputeOptions& options);

}  // namespace motley::app
