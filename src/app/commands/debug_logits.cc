#include <algorithm>
#include <memory>
#include <numeric>

#include "app/commands.h"
#include "app/exit_status.h"
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

// What becomes of the logits of one step's positions; they are gone afterwards, so that a long text needs no more
// memory than a short one.
using Receive = std::function<Status(std::span<const float> rows)>;

Status check(const LogitsOptions& options) {
  if (options.chunk_tokens == 0) return usage_error("--chunk: expected at least 1, got 0");
  if (options.top == 0) return usage_error("--top: expected at least 1, got 0");
  return absl::OkStatus();
}

Status check_ids(const LogitsOptions& options, uint32_t vocabulary) {
  for (const int32_t id : options.ids)
    REJECT_IF(id < 0 || static_cast<uint32_t>(id) >= vocabulary, "app.ids", "--ids",
              fmt::format("ids of {} tokens", vocabulary), id);
  return absl::OkStatus();
}

// Runs the ids in chunks; `receive` sees the wanted rows in order.
Status compute(exec::Runner& runner, const LogitsOptions& options, const Receive& receive) {
  const auto total = static_cast<uint32_t>(options.ids.size());
  TRY(const exec::SequenceId sequence, runner.create(total));
  for (uint32_t begin = 0; begin < total; begin += options.chunk_tokens) {
    const uint32_t end = std::min(total, begin + options.chunk_tokens);
    exec::Row row;
    row.sequence = sequence;
    row.position = begin;
    row.ids.assign(options.ids.begin() + begin, options.ids.begin() + end);
    row.kind = exec::OutputKind::kLogits;
    row.outputs = options.all ? exec::Outputs::kAll : end == total ? exec::Outputs::kLast : exec::Outputs::kNone;
    exec::Batch batch;
    batch.rows.push_back(std::move(row));
    TRY(const exec::Results results, runner.step(std::move(batch)).get());
    TRY(receive(results.rows.at(0).logits));
  }
  return runner.drop(sequence);
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
  TRY(check_ids(options, model->spec.vocabulary));
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
