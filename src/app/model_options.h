// Options that commands share: which model, and how it is to be computed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// --override, by itself for commands with more than one model.
void add_override_option(Arguments& command, std::vector<std::string>& overrides);

// Headers and text only; nothing of the weights is read.
StatusOr<std::shared_ptr<const model::Model>> load_model(const ModelOptions& options);

struct ComputeOptions {
  std::optional<uint32_t> threads;
  exec::Precision precision = exec::Precision::kFast;
  std::string instruction_set;
  bool lock_memory = false;
  bool operator==(const ComputeOptions&) const = default;
};

// --threads, --precision, --instruction-set (or MOTLEY_INSTRUCTION_SET) and --mlock.
void add_compute_options(Arguments& command, ComputeOptions& options);

// What one side of a comparison does otherwise than the ComputeOptions and overrides of both.
struct SideOptions {
  std::optional<exec::Precision> precision;
  std::optional<std::string> instruction_set;
  std::vector<std::string> overrides;
};

// --precision-SIDE, --instruction-set-SIDE and --override-SIDE.
void add_side_options(Arguments& command, SideOptions& options, const std::string& side);
ComputeOptions of_side(ComputeOptions both, const SideOptions& own);

// "exact" or "fast", as --precision takes it.
std::string_view precision_name(exec::Precision precision);

// Usage errors for values that make no sense on any machine.
StatusOr<exec::LocalOptions> local_options(const ComputeOptions& options);

}  // namespace motley::app
