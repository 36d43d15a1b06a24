#include "convert/convert.h"

#include <chrono>
#include <memory>

#include "app/commands.h"
#include "app/convert_options.h"
#include "app/convert_report.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/status_line.h"
#include "base/cpu.h"

namespace motley::app {
namespace {

struct ConvertOptions {
  ModelOptions source;
  std::string path, target;
  convert::Options options;
  std::optional<std::string> shard_size, recipe_file;
  std::vector<std::string> modules;
  std::optional<uint32_t> threads;
  bool overwrite = false, require_exact = false, tensors = false, json = false;
};

std::string target_names() {
  std::string names;
  for (const convert::Target& target : convert::targets())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", target.name);
  return names;
}

StatusOr<convert::Request> request_of(const ConvertOptions& given) {
  if (!convert::find_target(given.target).ok())
    return usage_error(fmt::format("--to: expected {}, got \"{}\"", target_names(), given.target));
  if (given.threads == 0u) return usage_error("--threads: expected at least 1, got 0");
  convert::Request request{.path = given.path, .target = given.target, .options = given.options};
  if (given.shard_size) {
    TRY(request.options.shard_size_bytes, parse_size_bytes("--shard-size", *given.shard_size));
  }
  TRY(request.options.modules, parse_modules(given.modules, given.recipe_file));
  request.existing = given.overwrite ? convert::Existing::kReplace : convert::Existing::kRefuse;
  request.require_exact = given.require_exact;
  request.threads = given.threads.value_or(default_threads());
  return request;
}

// A bar with rate and time left; ends the work when Ctrl-C was pressed.
class ProgressLine {
 public:
  Status operator()(uint64_t done_bytes, uint64_t total_bytes) const {
    if (InterruptGuard::raised()) return quiet_end(ExitCode::kInterrupted);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    show_status(progress_bar({.done = done_bytes / 1'000'000,
                              .total = total_bytes / 1'000'000,
                              .elapsed_s = elapsed.count(),
                              .unit = "MB"}));
    return absl::OkStatus();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status run_conversion(const ConvertOptions& given) {
  TRY(const convert::Request request, request_of(given));
  TRY(const auto model, load_model(given.source));
  const InterruptGuard guard;
  auto report = convert::convert(*model, request, ProgressLine());
  show_status("");
  TRY(report.status());
  const Converted converted{
      .source = given.source.path, .target = given.target, .path = given.path, .report = *std::move(report)};
  return given.json ? print_json(convert_json(converted)) : print(convert_report(converted, given.tensors));
}

void add_options(Arguments& command, ConvertOptions& given) {
  command.required("SOURCE", given.source.path, "The checkpoint to convert: a file or a folder");
  command.required("TARGET", given.path, "What to write: a folder (gguf: a file)");
  command.required("--to FORMAT", given.target, target_names());
  command.value("--dtype TYPE", given.options.dtype, "hf, mlx, gptq: f32, f16 or bf16 for what is not packed");
  command.value("--type TYPE", given.options.type, "gguf: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q6_K or Q4_K");
  command.value("--bits N", given.options.bits, "mlx: bits of a weight (default: the source's, or 4)");
  command.value("--group-size N", given.options.group_size, "mlx, gptq: weights that share a scale");
  command.value("--module GLOB=WHAT", given.modules,
                "mlx: BITS:GROUP or a float type for modules, such as 8:32 (repeatable)");
  command.value("--recipe FILE", given.recipe_file, "mlx: lines of GLOB=WHAT; --module is stronger");
  command.value("--version N", given.options.version, "llama2c: 0, 1 or 2 (default: 0)");
  command.value("--fallback TYPE", given.options.fallback, "Store what the asked format cannot hold in this one");
  command.value("--force", given.options.force, "llama2c: write what needs --override to run");
  command.value("--shard-size SIZE", given.shard_size, "hf, mlx, gptq: cut files at this size (default: 5GB)");
  command.value("--require-exact", given.require_exact, "Write nothing unless every tensor keeps its numbers");
  command.value("--overwrite", given.overwrite, "Replace TARGET once the new one is complete");
  add_override_option(command, given.source.overrides);
  command.value("-t,--threads N", given.threads, "Threads (default: one a core)");
  command.value("--tensors", given.tensors, "List every tensor");
  command.value("--json", given.json, "Print one JSON object instead of a report");
}

}  // namespace

void add_convert(CommandLine& line) {
  Arguments command = line.root().command("convert", "Write a checkpoint in another format");
  auto options = std::make_shared<ConvertOptions>();
  add_options(command, *options);
  command.examples(R"(  motley convert model.gguf model-hf --to hf --dtype bf16
  motley convert stories15M.bin stories-hf --to hf
  motley convert model-hf model-llama2c --to llama2c --version 1

Each tensor is decoded from source and target and compared: it is exact, or its error is said. Rows of Q and K change
places where the formats pair the inputs of RoPE differently.)");
  command.action([options] { return run_conversion(*options); });
}

}  // namespace motley::app
