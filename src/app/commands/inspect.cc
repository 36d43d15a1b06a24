#include <chrono>
#include <memory>

#include "app/commands.h"
#include "app/inspect_report.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/status_line.h"
#include "app/trace_report.h"
#include "base/cpu.h"
#include "exec/local.h"
#include "ingest/describe.h"
#include "ingest/trace.h"

namespace motley::app {
namespace {

struct InspectOptions {
  ModelOptions model;
  bool tensors = false, check = false, trace = false, json = false;
};

// Reads every number, with a bar on a terminal.
StatusOr<ingest::NumberCheck> check(const model::Model& model) {
  ThreadPool pool(default_threads());
  uint64_t total = 0;
  for (const auto& [role, weight] : model.weights) total += weight.stored_bytes();
  const auto begin = std::chrono::steady_clock::now();
  auto result = ingest::check_numbers(model, pool, [&](uint64_t bytes) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    show_status(fmt::format("checking {} of {} MB, {:.0f} s", bytes >> 20, total >> 20, elapsed.count()));
  });
  show_status("");
  return result;
}

Status print_trace(const InspectOptions& options, const model::Model& model,
                   const std::optional<ingest::NumberCheck>& numbers) {
  TRY(const std::string device, exec::local_device_name({}));
  const Json report =
      ingest::trace(model, {.name = device, .ready = true, .arithmetic = "fast", .kv_element_bytes = 2}, numbers);
  return options.json ? print_json(report) : print(trace_report(report));
}

Status print_description(const InspectOptions& options, const model::Model& model,
                         const std::optional<ingest::NumberCheck>& numbers) {
  Json report = ingest::describe(model, options.tensors ? ingest::TensorList::kInclude : ingest::TensorList::kLeaveOut);
  if (numbers) report.set("numbers", ingest::to_json(*numbers));
  if (options.json) return print_json(report);
  return print(inspect_report(report) + (numbers ? number_check_report(ingest::to_json(*numbers)) : ""));
}

Status inspect(const InspectOptions& options) {
  TRY(const auto model, load_model(options.model));
  std::optional<ingest::NumberCheck> numbers;
  if (options.check) {
    TRY(numbers, check(*model));
  }
  TRY(options.trace ? print_trace(options, *model, numbers) : print_description(options, *model, numbers));
  REJECT_IF(numbers && numbers->all.not_finite != 0, "inspect.not_finite", options.model.path, "finite numbers",
            fmt::format("{} that are NaN or infinite", numbers->all.not_finite));
  return absl::OkStatus();
}

}  // namespace

void add_inspect(CommandLine& line) {
  Arguments command = line.root().command("inspect", "Say what a model is, from its headers alone");
  auto options = std::make_shared<InspectOptions>();
  add_model_options(command, options->model);
  command.value("--tensors", options->tensors, "List every tensor");
  command.value("--check", options->check, "Read all bytes: are all numbers finite, and how are they spread");
  command.value("--trace", options->trace, "Say what was bound and what happens from the file to the first token");
  command.value("--json", options->json, "Print one JSON object instead of a report");
  command.examples(R"(  motley inspect model.gguf
  motley inspect Llama-3.2-1B-Instruct-4bit --tensors --json
  motley inspect model.gguf --trace --check)");
  command.action([options] { return inspect(*options); });
}

}  // namespace motley::app
