#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "app/commands.h"
#include "app/exit_status.h"
#include "app/logits_stream.h"
#include "app/model_options.h"
#include "app/npy_writer.h"
#include "app/output.h"
#include "exec/local.h"

namespace motley::app {
namespace {

struct LogitsOptions {
  ModelOptions model;
  ComputeOptions compute;
  std::vector<int32_t> ids;
  uint32_t top = 10;
  uint32_t chunk_tokens = 512;
  bool all = false;
  std::optional<std::string> out;
};

Status check(const LogitsOptions& options) {
  if (options.chunk_tokens == 0) return usage_error("--chunk: expected at least 1, got 0");
  if (options.top == 0) return usage_error("--top: expected at least 1, got 0");
  return absl::OkStatus();
}

// Runs the ids in chunks; `receive` sees the wanted rows in order.
Status compute(exec::Runner& runner, const LogitsOptions& options,
               const std::function<Status(std::span<const float> rows)>& receive) {
  LogitsStream stream(runner, options.ids, options.chunk_tokens,
                      options.all ? LogitsStream::Positions::kAll : LogitsStream::Positions::kLast);
  while (!stream.done()) {
    TRY(const std::vector<float> rows, stream.next());
    TRY(receive(rows));
  }
  return absl::OkStatus();
}

Json top_json(std::span<const float> logits, uint32_t count) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  const auto end = order.begin() + std::min<size_t>(count, order.size());
  std::partial_sort(order.begin(), end, order.end(), better);
  Json::Array top;
  for (auto id = order.begin(); id != end; ++id) top.push_back(Json::Object{{"id", *id}, {"logit", logits[*id]}});
  return Json::Object{{"top", std::move(top)}};
}

Status print_top(exec::Runner& runner, const LogitsOptions& options) {
  std::vector<float> last;
  TRY(compute(runner, options, [&](std::span<const float> rows) {
    last.assign(rows.begin(), rows.end());
    return absl::OkStatus();
  }));
  return print_json(top_json(last, options.top));
}

Status write_file(exec::Runner& runner, const LogitsOptions& options) {
  const NpyWriter::Shape shape{.rows = options.all ? options.ids.size() : 1, .columns = runner.facts().vocabulary};
  TRY(const auto writer, NpyWriter::create(*options.out, shape));
  TRY(compute(runner, options, [&](std::span<const float> rows) { return writer->append(rows); }));
  return writer->finish();
}

Status logits(const LogitsOptions& options) {
  TRY(check(options));
  TRY(exec::LocalOptions local, local_options(options.compute));
  TRY(const auto model, load_model(options.model));
  TRY(check_ids(options.ids, model->spec.vocabulary, "--ids"));
  local.context_tokens = static_cast<uint32_t>(options.ids.size());
  local.max_step_tokens = options.chunk_tokens;
  TRY(const auto runner, exec::make_local_runner(model, local));
  return options.out ? write_file(*runner, options) : print_top(*runner, options);
}

}  // namespace

void add_debug_logits(CommandLine& line) {
  Arguments debug = line.root().command("debug", "Look inside, to compare with another program");
  Arguments command = debug.command("logits", "What the network says after some ids");
  auto options = std::make_shared<LogitsOptions>();
  add_model_options(command, options->model);
  command.required("--ids ID,ID,…", options->ids, "The ids of a text, as debug tokens prints them");
  command.value("--top N", options->top, "Print this many of the largest logits after the last id, largest first");
  command.value("--all", options->all, "After every id instead of only the last (with --out)");
  command.value("--out FILE", options->out, "Write all logits to a NumPy file, float32 [T, V]");
  command.value("--chunk N", options->chunk_tokens, "Compute this many ids at a time");
  add_compute_options(command, options->compute);
  command.needs("--all", "--out");
  command.contradicts("--top", "--out");
  command.examples(R"(  motley debug logits model.gguf --ids 1,2,3 --precision exact --top 5
  motley debug logits model.gguf --ids 1,2,3 --all --out logits.npy)");
  command.action([options] { return logits(*options); });
}

}  // namespace motley::app
