#include "exec/local_runner.h"

#include <algorithm>
#include <set>

namespace motley::exec {
namespace {

std::future<StatusOr<Results>> ready(StatusOr<Results> results) {
  std::promise<StatusOr<Results>> promise;
  promise.set_value(std::move(results));
  return promise.get_future();
}

uint32_t output_count(const Row& row) {
  if (row.outputs == Outputs::kAll) return static_cast<uint32_t>(row.ids.size());
  return row.outputs == Outputs::kLast ? 1 : 0;
}

// Draws a token for each output row of `logits` [outputs, V]; the mask belongs to the last one.
StatusOr<std::vector<sample::Draw>> draw_tokens(const Row& row, std::span<const float> logits, uint32_t vocabulary) {
  const uint32_t outputs = output_count(row);
  const auto first_position = row.position + static_cast<uint32_t>(row.ids.size()) - outputs;
  std::vector<sample::Draw> draws;
  for (uint32_t output = 0; output < outputs; ++output) {
    const bool masked = row.mask.valid() && output + 1 == outputs;
    const sample::DrawKey key{.seed = row.sampling.seed, .choice = row.choice, .position = first_position + output + 1};
    TRY(sample::Draw draw,
        sample::draw(logits.subspan(size_t{output} * vocabulary, vocabulary), row.sampling, key, row.history,
                     masked ? sample::Mask(row.mask.get()) : sample::Mask(), row.report_top));
    draws.push_back(std::move(draw));
  }
  return draws;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace

LocalRunner::LocalRunner(std::unique_ptr<Device> device, std::unique_ptr<Program> program, Facts facts, Limits limits)
    : device_(std::move(device)), program_(std::move(program)), facts_(std::move(facts)), limits_(limits) {}

LocalRunner::~LocalRunner() = default;

StatusOr<SequenceId> LocalRunner::create(uint32_t reserve_tokens) {
  TRY(program_->create(next_, reserve_tokens));
  lengths_[next_] = 0;
  return next_++;
}

StatusOr<SequenceId> LocalRunner::fork(SequenceId parent, uint32_t length) {
  TRY(program_->fork(parent, next_, length));
  lengths_[next_] = length;
  return next_++;
}

Status LocalRunner::truncate(SequenceId sequence, uint32_t length) {
  TRY(program_->truncate(sequence, length));
  lengths_[sequence] = length;
  return absl::OkStatus();
}

StatusOr<Snapshot> LocalRunner::snapshot(SequenceId sequence) { return program_->snapshot(sequence); }

StatusOr<SequenceId> LocalRunner::restore(const Snapshot& snapshot) {
  TRY(program_->restore(next_, snapshot));
  lengths_[next_] = snapshot.length;
  return next_++;
}

Status LocalRunner::drop(SequenceId sequence) {
  TRY(program_->drop(sequence));
  lengths_.erase(sequence);
  return absl::OkStatus();
}

Status LocalRunner::check(const Row& row) const {
  const auto sequence = lengths_.find(row.sequence);
  if (sequence == lengths_.end()) return absl::NotFoundError(fmt::format("no sequence {}", row.sequence));
  const std::string where = fmt::format("sequence {}", row.sequence);
  REJECT_IF(row.ids.empty(), "step.no_ids", where, "at least one id", 0);
  REJECT_IF(row.position != sequence->second, "step.position", where, fmt::format("position {}", sequence->second),
            row.position);
  REJECT_IF(row.ids.size() > limits_.context_tokens - sequence->second, "step.context", where,
            fmt::format("at most {} tokens in the context", limits_.context_tokens), sequence->second + row.ids.size());
  REJECT_IF(row.adapter != 0, "step.adapter", where, "an adapter that is loaded", row.adapter);
  for (const int32_t id : row.ids)
    REJECT_IF(id < 0 || static_cast<uint32_t>(id) >= facts_.vocabulary, "step.id", where,
              fmt::format("ids in [0, {})", facts_.vocabulary), id);
  return sample::check(row.sampling);
}

Status LocalRunner::check(const Batch& batch) const {
  std::set<SequenceId> sequences;
  size_t tokens = 0;
  for (const Row& row : batch.rows) {
    TRY(check(row));
    REJECT_IF(!sequences.insert(row.sequence).second, "step.sequence_twice", "step", "each sequence once",
              row.sequence);
    tokens += row.ids.size();
  }
  REJECT_IF(tokens > limits_.max_step_tokens, "step.tokens", "step",
            fmt::format("at most {} tokens", limits_.max_step_tokens), tokens);
  return absl::OkStatus();
}

std::future<StatusOr<Results>> LocalRunner::step(Batch batch) { return ready(run(batch)); }

StatusOr<Results> LocalRunner::run(const Batch& batch) {
  TRY(check(batch));
  StageBatch stage;
  std::vector<int32_t> ids;
  bool logits = false;
  for (const Row& row : batch.rows) {
    stage.rows.push_back({.sequence = row.sequence,
                          .position = row.position,
                          .count = static_cast<uint32_t>(row.ids.size()),
                          .outputs = row.outputs});
    ids.insert(ids.end(), row.ids.begin(), row.ids.end());
    logits |= row.outputs != Outputs::kNone && row.kind != OutputKind::kHidden;
  }
  stage.ids = ids;
  stage.kind = logits ? OutputKind::kLogits : OutputKind::kHidden;
  TRY(const StageOutput output, program_->submit(stage).get());
  for (const Row& row : batch.rows) lengths_[row.sequence] += static_cast<uint32_t>(row.ids.size());
  return collect(batch, output);
}

StatusOr<Results> LocalRunner::collect(const Batch& batch, const StageOutput& output) const {
  Results results;
  size_t first = 0;  // output row
  for (const Row& row : batch.rows) {
    const size_t outputs = output_count(row);
    RowResult result;
    if (outputs > 0 && row.kind == OutputKind::kHidden) {
      result.hidden = copy(output.hidden.subspan(first * facts_.hidden, outputs * facts_.hidden));
    } else if (outputs > 0) {
      const auto logits = output.logits.subspan(first * facts_.vocabulary, outputs * facts_.vocabulary);
      if (row.kind == OutputKind::kLogits) {
        result.logits = copy(logits);
      } else {
        TRY(result.tokens, draw_tokens(row, logits, facts_.vocabulary));
      }
    }
    results.rows.push_back(std::move(result));
    first += outputs;
  }
  return results;
}

}  // namespace motley::exec
