#include <memory>

#include "app/commands.h"
#include "app/inspect_report.h"
#include "app/model_options.h"
#include "app/output.h"
#include "ingest/describe.h"

namespace motley::app {
namespace {

struct InspectOptions {
  ModelOptions model;
  bool tensors = false, json = false;
};

Status inspect(const InspectOptions& options) {
  TRY(const auto model, load_model(options.model));
  const Json report =
      ingest::describe(*model, options.tensors ? ingest::TensorList::kInclude : ingest::TensorList::kLeaveOut);
  return options.json ? print_json(report) : print(inspect_report(report));
}

}  // namespace

void add_inspect(CommandLine& line) {
  Arguments command = line.root().command("inspect", "Say what a model is, from its headers alone");
  auto options = std::make_shared<InspectOptions>();
  add_model_options(command, options->model);
  command.value("--tensors", options->tensors, "List every tensor");
  command.value("--json", options->json, "Print one JSON object instead of a report");
  command.examples(R"(  motley inspect model.gguf
  motley inspect Llama-3.2-1B-Instruct-4bit --tensors --json)");
  command.action([options] { return inspect(*options); });
}

}  // namespace motley::app
