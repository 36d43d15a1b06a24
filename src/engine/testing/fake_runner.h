// A Runner for tests of engine: it keeps the rules of the contract and refuses what breaks them, but computes nothing.
// The next token is what the test's function says of the whole sequence.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "exec/runner.h"

namespace motley::engine::testing {

class FakeRunner final : public exec::Runner {
 public:
  using Next = std::function<int32_t(const std::vector<int32_t>& sequence)>;

  struct Options {
    uint32_t context_tokens = 64;
    uint32_t max_step_tokens = 8;
    enum class Rollback { kAnywhere, kNowhere } rollback = Rollback::kAnywhere;
  };

  FakeRunner(Options options, Next next) : options_(options), next_(std::move(next)) {}

  StatusOr<exec::SequenceId> create(uint32_t /*reserve_tokens*/) override {
    sequences_[++last_id_];
    return last_id_;
  }
  StatusOr<exec::SequenceId> fork(exec::SequenceId /*parent*/, uint32_t /*length*/) override { return unused("fork"); }
  StatusOr<exec::Snapshot> snapshot(exec::SequenceId /*sequence*/) override { return unused("snapshot"); }
  StatusOr<exec::SequenceId> restore(const exec::Snapshot& /*snapshot*/) override { return unused("restore"); }

  Status truncate(exec::SequenceId sequence, uint32_t length) override {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) return absl::NotFoundError("truncate");
    if (options_.rollback == Options::Rollback::kNowhere) return absl::FailedPreconditionError("truncate");
    if (length > found->second.size()) return absl::InvalidArgumentError("truncate");
    found->second.resize(length);
    return absl::OkStatus();
  }

  Status drop(exec::SequenceId sequence) override {
    return sequences_.erase(sequence) == 1 ? absl::OkStatus() : absl::NotFoundError("drop");
  }

  std::future<StatusOr<exec::Results>> step(exec::Batch batch) override {
    std::promise<StatusOr<exec::Results>> promise;
    promise.set_value(run(batch));
    return promise.get_future();
  }

  exec::Cost cost(uint64_t /*tokens*/) const override { return {}; }
  exec::Limits limits() const override {
    return {.context_tokens = options_.context_tokens,
            .max_step_tokens = options_.max_step_tokens,
            .kv_capacity_tokens = options_.context_tokens};
  }
  exec::Facts facts() const override { return {}; }

  size_t live_sequences() const { return sequences_.size(); }
  // Every row that was run, and (when set) what to do after each.
  std::vector<exec::Row> rows;
  std::function<void()> after_step;

 private:
  static Status unused(const char* call) {
    return absl::InternalError(fmt::format("{}: engine has no use for it yet", call));
  }

  StatusOr<exec::Results> run(const exec::Batch& batch) {
    exec::Results results;
    for (const exec::Row& row : batch.rows) {
      const auto found = sequences_.find(row.sequence);
      if (found == sequences_.end()) return absl::InvalidArgumentError("unknown sequence");
      std::vector<int32_t>& ids = found->second;
      if (row.position != ids.size()) return absl::InvalidArgumentError("wrong position");
      if (row.ids.empty() || row.ids.size() > options_.max_step_tokens) return absl::InvalidArgumentError("row length");
      if (ids.size() + row.ids.size() > options_.context_tokens) return absl::ResourceExhaustedError("context");
      ids.insert(ids.end(), row.ids.begin(), row.ids.end());
      exec::RowResult result;
      if (row.outputs == exec::Outputs::kLast)
        result.tokens.push_back({.id = next_(ids), .log_probability = 0, .top = {}});
      results.rows.push_back(std::move(result));
      rows.push_back(row);
    }
    if (after_step) after_step();
    return results;
  }

  Options options_;
  Next next_;
  exec::SequenceId last_id_ = 0;
  std::map<exec::SequenceId, std::vector<int32_t>> sequences_;
};

}  // namespace motley::engine::testing
