#include "app/model_options.h"

#include "app/exit_status.h"
#include "ingest/load.h"

namespace motley::app {
namespace {

// No machine has as many processors; a slip of the finger must not start a million threads.
constexpr uint32_t kMaxThreads = 4096;

}  // namespace

void add_model_options(Arguments& command, ModelOptions& options) {
  command.required("MODEL", options.path, "The model: a file, or a folder with one checkpoint");
  command.value("--override KEY=VALUE", options.overrides,
                "Set a key of the network by hand (rope_theta=100000); repeatable");
  command.value("--chat-template FILE", options.chat_template_file, "Use the Jinja template of this file for chats");
}

StatusOr<std::shared_ptr<const model::Model>> load_model(const ModelOptions& options) {
  TRY(model::Model loaded,
      ingest::load(options.path, {.overrides = options.overrides, .chat_template_file = options.chat_template_file}));
  return std::make_shared<const model::Model>(std::move(loaded));
}

void add_compute_options(Arguments& command, ComputeOptions& options) {
  command.value("--threads N", options.threads, "Threads to compute with (default: one a physical core)");
  command.choice("--precision", options.precision,
                 {{"exact", exec::Precision::kExact}, {"fast", exec::Precision::kFast}},
                 "exact: activations stay 32-bit floats; fast: rounded to 8 bits a group");
  command.value("--instruction-set NAME", options.instruction_set,
                "CPU instructions to use (default: MOTLEY_INSTRUCTION_SET, or the best here)");
  command.environment("--instruction-set", "MOTLEY_INSTRUCTION_SET");
  command.value("--mlock", options.lock_memory, "Keep the weights in memory");
}

StatusOr<exec::LocalOptions> local_options(const ComputeOptions& options) {
  if (options.threads && (*options.threads == 0 || *options.threads > kMaxThreads))
    return usage_error(fmt::format("--threads: expected 1 to {}, got {}", kMaxThreads, *options.threads));
  exec::LocalOptions local;
  local.threads = options.threads.value_or(0);
  local.precision = options.precision;
  local.instruction_set = options.instruction_set;
  local.lock = options.lock_memory ? exec::LocalOptions::Lock::kYes : exec::LocalOptions::Lock::kNo;
  return local;
}

}  // namespace motley::app
