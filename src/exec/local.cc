#include "exec/local.h"

#include <algorithm>

#include "base/memory.h"
#include "exec/device.h"
#include "exec/local_runner.h"
#include "exec/lower.h"

namespace motley::exec {
namespace {

// What a default context may take of the memory that is left once the weights are in: the rest is for the step's
// buffers and for everybody else on the machine.
constexpr double kKvShareOfFreeMemory = 0.75;

uint64_t kv_element_bytes(Precision precision) { return precision == Precision::kExact ? 4 : 2; }

uint64_t weight_bytes(const model::Model& model) {
  uint64_t bytes = 0;
  for (const auto& [role, weight] : model.weights) bytes += weight.stored_bytes();
  return bytes;
}

// What decoding one token reads: all but the rows of an embedding table that is only looked up.
uint64_t step_weight_bytes(const model::Model& model) {
  uint64_t bytes = weight_bytes(model);
  if (!model.spec.head.tied)
    bytes -= model.weights.at({.part = model::Part::kEmbedding, .slot = model::Slot::kWeight}).stored_bytes();
  return bytes;
}

StatusOr<uint32_t> choose_context(const model::Model& model, const LocalOptions& options, uint64_t free_bytes) {
  const uint64_t token_bytes = model::kv_bytes_per_token(model.spec, kv_element_bytes(options.precision));
  const auto room = static_cast<uint64_t>(static_cast<double>(free_bytes) * kKvShareOfFreeMemory);
  const uint64_t fitting = std::max<uint64_t>(room / token_bytes, 1);
  if (!options.context_tokens) return static_cast<uint32_t>(std::min<uint64_t>(model.spec.context_tokens, fitting));
  const uint32_t wanted = *options.context_tokens;
  REJECT_IF(
      wanted == 0 || wanted > model.spec.context_tokens, "local.context", "--context",
      fmt::format("1 to {} tokens, the model's own (more with --override context_tokens=N)", model.spec.context_tokens),
      wanted);
  if (wanted * token_bytes > free_bytes)
    return absl::ResourceExhaustedError(
        fmt::format("--context {}: expected a KV cache of at most {} MiB, the memory that is free, got one of {} MiB",
                    wanted, free_bytes >> 20, (wanted * token_bytes) >> 20));
  return wanted;
}

StatusOr<std::unique_ptr<Device>> make_device(const LocalOptions& options) {
  return device_rows().front().create({.threads = options.threads,
                                       .instruction_set = options.instruction_set,
                                       .lock_memory = options.lock == LocalOptions::Lock::kYes});
}

}  // namespace

StatusOr<std::string> local_device_name(const LocalOptions& options) {
  TRY(const std::unique_ptr<Device> device, make_device(options));
  return device->facts().name;
}

StatusOr<std::unique_ptr<Runner>> make_local_runner(const std::shared_ptr<const model::Model>& model,
                                                    const LocalOptions& options) {
  TRY(std::unique_ptr<Device> device, make_device(options));
  const uint64_t available = device->facts().available_bytes, weights = weight_bytes(*model);
  if (weights > available)
    return absl::ResourceExhaustedError(
        fmt::format("{}: expected weights of at most {} MiB, the memory that is free, got {} MiB",
                    model->provenance.path, available >> 20, weights >> 20));
  TRY(const uint32_t context, choose_context(*model, options, available - weights));
  TRY(std::vector<Block> blocks, lower(model->spec, whole(model->spec), model::ModelWeights(model), *device));
  const Limits limits{
      .context_tokens = context, .max_step_tokens = options.max_step_tokens, .kv_capacity_tokens = context};
  TRY(std::unique_ptr<Program> program,
      device->compile(std::move(blocks), {.precision = options.precision,
                                          .context_tokens = limits.context_tokens,
                                          .max_step_tokens = limits.max_step_tokens,
                                          .kv_capacity_tokens = limits.kv_capacity_tokens}));
  const Facts facts{.hidden = model->spec.hidden,
                    .vocabulary = model->spec.vocabulary,
                    .precision = options.precision,
                    .device = device->facts().name,
                    .weight_bytes = device->facts().weight_bytes,
                    .step_weight_bytes = step_weight_bytes(*model),
                    .kv_bytes_per_token = model::kv_bytes_per_token(model->spec, kv_element_bytes(options.precision))};
  return std::make_unique<LocalRunner>(std::move(device), std::move(program), facts, limits);
}

}  // namespace motley::exec
