#include "app/model_options.h"

#include "app/exit_status.h"
#include "ingest/load.h"

namespace motley::app {
namespace {

// No machine has as many processors; a slip of the finger must not start a million threads.
constexpr uint32_t kMaxThreads = 4096;

// `target`: a Precision or an optional one.
template <typename Target>
void add_precision(Arguments& command, const std::string& name, Target& target, const std::string& help) {
  std::vector<std::pair<std::string, Target>> words;
  for (const exec::Precision precision : {exec::Precision::kExact, exec::Precision::kFast})
    words.emplace_back(precision_name(precision), precision);
  command.choice(name, target, std::move(words), help);
}

}  // namespace

void add_model_options(Arguments& command, ModelOptions& options) {
  command.required("MODEL", options.path, "The model: a file, or a folder with one checkpoint");
  add_override_option(command, options.overrides);
  command.value("--chat-template FILE", options.chat_template_file, "Use the Jinja template of this file for chats");
}

void add_override_option(Arguments& command, std::vector<std::string>& overrides) {
  command.value("--override KEY=VALUE", overrides, "Set a key of the network by hand (rope_theta=100000); repeatable");
}

StatusOr<std::shared_ptr<const model::Model>> load_model(const ModelOptions& options) {
  TRY(model::Model loaded,
      ingest::load(options.path, {.overrides = options.overrides, .chat_template_file = options.chat_template_file}));
  return std::make_shared<const model::Model>(std::move(loaded));
}

void add_compute_options(Arguments& command, ComputeOptions& options) {
  command.value("--threads N", options.threads, "Threads to compute with (default: one a physical core)");
  add_precision(command, "--precision", options.precision,
                "exact: activations stay 32-bit floats; fast: rounded to 8 bits a group");
  command.value("--instruction-set NAME", options.instruction_set,
                "CPU instructions to use (default: MOTLEY_INSTRUCTION_SET, or the best here)");
  command.environment("--instruction-set", "MOTLEY_INSTRUCTION_SET");
  command.value("--mlock", options.lock_memory, "Keep the weights in memory");
}

void add_side_options(Arguments& command, SideOptions& options, const std::string& side) {
  const std::string name = side == "a" ? "A" : "B";
  add_precision(command, "--precision-" + side, options.precision, "--precision of " + name + " alone");
  command.value("--instruction-set-" + side + " NAME", options.instruction_set,
                "--instruction-set of " + name + " alone");
  command.value("--override-" + side + " KEY=VALUE", options.overrides, "--override of " + name + " alone; repeatable");
}

ComputeOptions of_side(ComputeOptions both, const SideOptions& own) {
  both.precision = own.precision.value_or(both.precision);
  both.instruction_set = own.instruction_set.value_or(both.instruction_set);
  return both;
}

std::string_view precision_name(exec::Precision precision) {
  return precision == exec::Precision::kExact ? "exact" : "fast";
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
