#include <memory>

#include "app/commands.h"
#include "app/compare_plot.h"
#include "app/compare_report.h"
#include "app/compare_run.h"
#include "app/compare_text.h"
#include "app/exit_status.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/partial_file.h"
#include "app/status_line.h"
#include "base/cpu.h"

namespace motley::app {
namespace {

struct CompareOptions {
  std::string path_a;
  std::optional<std::string> path_b;
  std::vector<std::string> overrides;
  ComputeOptions compute;
  SideOptions a, b;
  TextChoice text;
  std::optional<std::string> plot_file;
  std::optional<double> fail_above_nats;
  bool json = false;
};

bool sides_differ(const CompareOptions& options) {
  return options.path_b || of_side(options.compute, options.a) != of_side(options.compute, options.b) ||
         options.a.overrides != options.b.overrides;
}

Status check(const CompareOptions& options) {
  if (!sides_differ(options))
    return usage_error("B: expected a checkpoint, or settings in which A and B differ (--precision-b, …), got neither");
  if (options.fail_above_nats && !(*options.fail_above_nats >= 0))
    return usage_error(fmt::format("--fail-above: expected at least 0, got {}", *options.fail_above_nats));
  return absl::OkStatus();
}

// A checkpoint with the settings of its side, before its weights are read.
struct Side {
  std::shared_ptr<const model::Model> model;
  exec::LocalOptions local;
};

StatusOr<Side> open_side(const CompareOptions& options, const std::string& path, const SideOptions& own) {
  Side side;
  TRY(side.local, local_options(of_side(options.compute, own)));
  side.local.max_step_tokens = kCompareChunkTokens;
  std::vector<std::string> overrides = options.overrides;
  overrides.insert(overrides.end(), own.overrides.begin(), own.overrides.end());
  TRY(side.model, load_model({.path = path, .overrides = overrides, .chat_template_file = {}}));
  return side;
}

StatusOr<std::unique_ptr<exec::Runner>> load_weights(const char* name, Side& side, uint32_t context_tokens) {
  side.local.context_tokens = context_tokens;
  const Activity activity(fmt::format("Loading {}", name));
  auto runner = exec::make_local_runner(side.model, side.local);
  if (!runner.ok()) return annotate(runner.status(), name);
  return runner;
}

ComparedSide described(const Side& side, const exec::Runner& runner) {
  return {side.model->provenance.path, side.model->provenance.overrides, runner.facts()};
}

StatusOr<Comparison> compute(const CompareOptions& options) {
  TRY(Side a, open_side(options, options.path_a, options.a));
  TRY(Side b, open_side(options, options.path_b.value_or(options.path_a), options.b));
  Comparison result;
  TRY(result.text, read_compared_text(options.text, *a.model, *b.model));
  const auto longest_window = static_cast<uint32_t>(result.text.windows.front().size());
  TRY(const auto runner_a, load_weights("A", a, longest_window));
  TRY(const auto runner_b, load_weights("B", b, longest_window));
  ThreadPool pool(a.local.threads == 0 ? default_threads() : a.local.threads);
  TRY(result.positions, run_side_by_side({.a = *runner_a, .b = *runner_b, .pool = pool}, result.text.windows));
  result.a = described(a, *runner_a);
  result.b = described(b, *runner_b);
  result.summary = summarise(result.positions, runner_a->facts().vocabulary);
  return result;
}

Status print_comparison(const Comparison& comparison, const CompareOptions& options) {
  if (options.json) {
    TRY(const Json object, compare_json(comparison));
    return print_json(object);
  }
  TRY(const std::string report, compare_report(comparison));
  return print_answer(report);  // texts and tokens may hold anything
}

Status judge(const Comparison& comparison, std::optional<double> fail_above_nats) {
  const double mean = comparison.summary.kl_nats.mean;
  if (!fail_above_nats || mean <= *fail_above_nats) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("mean KL: expected at most {} nats (--fail-above), got {:.6g}", *fail_above_nats, mean));
}

Status compare(const CompareOptions& options) {
  TRY(check(options));
  std::unique_ptr<PartialFile> plot;  // before the work: a name that cannot be written should not cost it
  if (options.plot_file) {
    TRY(plot, PartialFile::create(*options.plot_file));
  }
  TRY(const Comparison comparison, compute(options));
  if (plot) {
    TRY(plot->write(compare_svg(comparison)));
    TRY(plot->finish());
  }
  TRY(print_comparison(comparison, options));
  return judge(comparison, options.fail_above_nats);
}

void add_options(Arguments& command, CompareOptions& options) {
  command.required("A", options.path_a, "The checkpoint that is taken for right: a file or a folder");
  command.value("B", options.path_b, "The checkpoint to compare with it (default: A under the settings of B)");
  command.value("--text FILE", options.text.file, "Compare on this text (-: standard input; default: a part of Alice)");
  command.value("--ids ID,ID,…", options.text.ids, "Compare on these ids, as debug tokens prints them");
  command.value("--tokens N", options.text.tokens, "Use the first N tokens (default: 512 of a text, all of --ids)");
  command.value("--window N", options.text.window_tokens,
                "Cut the text every N tokens and begin anew (default: 512, or what the contexts hold)");
  add_override_option(command, options.overrides);
  add_compute_options(command, options.compute);
  add_side_options(command, options.a, "a");
  add_side_options(command, options.b, "b");
  command.value("--plot FILE", options.plot_file, "Draw KL as a histogram and by position, as SVG");
  command.value("--fail-above KL", options.fail_above_nats, "Exit with 1 when the mean KL is above this many nats");
  command.value("--json", options.json, "Print one JSON object instead of a report");
  command.contradicts("--text", "--ids");
}

}  // namespace

void add_compare(CommandLine& line) {
  Arguments command = line.root().command("compare", "Say how far one checkpoint or setting is from another");
  auto options = std::make_shared<CompareOptions>();
  add_options(command, *options);
  command.examples(R"(  motley compare model-f16.gguf model-Q4_K_M.gguf
  motley compare model.gguf --precision-a exact --precision-b fast
  motley compare model.gguf twin-4bit --text book.txt --tokens 4096 --plot kl.svg
  motley compare model.gguf twin-4bit --json --fail-above 0.05

Both are held in memory and run side by side on the same tokens. KL(A||B) says how surprised B is by what A expects.)");
  command.action([options] { return compare(*options); });
}

}  // namespace motley::app
