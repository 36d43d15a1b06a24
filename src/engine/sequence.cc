#include "engine/sequence.h"

#include <algorithm>

namespace motley::engine {
namespace {

bool penalises(const sample::Settings& sampling) {
  return sampling.repeat_penalty != 1 || sampling.presence_penalty != 0 || sampling.frequency_penalty != 0;
}

// The tokens that penalties look at, none when there are no penalties: a step should not copy a long sequence for
// nothing.
std::vector<int32_t> history(std::span<const int32_t> before, std::span<const int32_t> appended,
                             const sample::Settings& sampling) {
  if (!penalises(sampling)) return {};
  std::vector<int32_t> all(before.begin(), before.end());
  all.insert(all.end(), appended.begin(), appended.end());
  if (sampling.penalty_window > 0 && all.size() > sampling.penalty_window)
    all.erase(all.begin(), all.end() - sampling.penalty_window);
  return all;
}

}  // namespace

Sequence::~Sequence() {
  if (sequence_) runner_.drop(*sequence_).IgnoreError();  // nobody is left to hear of it
}

// The last id is always computed again, since its logits are wanted.
Status Sequence::make_room_for(std::span<const int32_t> ids) {
  if (ids.empty()) return absl::InvalidArgumentError("prompt: expected at least one token, got none");
  if (ids.size() >= context_tokens())
    return absl::ResourceExhaustedError(
        fmt::format("prompt: expected fewer than {} tokens (the context), got {}", context_tokens(), ids.size()));
  const auto differs = std::mismatch(ids.begin(), ids.end() - 1, ids_.begin(), ids_.end());
  return keep(static_cast<uint32_t>(differs.second - ids_.begin()));
}

Status Sequence::keep(uint32_t length) {
  if (sequence_ && length == ids_.size()) return absl::OkStatus();
  if (sequence_ && length > 0) {
    Status truncated = runner_.truncate(*sequence_, length);
    if (truncated.ok()) ids_.resize(length);
    // State that cannot be rolled back is computed again from the start.
    if (truncated.code() != absl::StatusCode::kFailedPrecondition) return truncated;
  }
  if (sequence_) TRY(runner_.drop(*sequence_));
  sequence_.reset();
  ids_.clear();
  TRY(sequence_, runner_.create(0));
  return absl::OkStatus();
}

StatusOr<std::optional<int32_t>> Sequence::append(std::span<const int32_t> ids, const sample::Settings& sampling,
                                                  exec::Outputs outputs) {
  exec::Row row;
  row.sequence = *sequence_;
  row.position = static_cast<uint32_t>(ids_.size());
  row.ids.assign(ids.begin(), ids.end());
  row.outputs = outputs;
  row.sampling = sampling;
  if (outputs != exec::Outputs::kNone) row.history = history(ids_, ids, sampling);
  exec::Batch batch;
  batch.rows.push_back(std::move(row));
  TRY(const exec::Results results, runner_.step(std::move(batch)).get());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  if (outputs == exec::Outputs::kNone) return std::nullopt;
  return results.rows.at(0).tokens.at(0).id;
}

StatusOr<Prefill> Sequence::prefill(std::span<const int32_t> ids, const sample::Settings& sampling,
                                    const std::atomic<bool>& cancelled, const PrefillProgress& progress) {
  TRY(make_room_for(ids));
  const auto rest = ids.subspan(ids_.size());
  const auto total = static_cast<uint32_t>(rest.size());
  const uint32_t most = std::max(runner_.limits().max_step_tokens, 1u);
  Prefill result;
  while (result.computed_tokens < total && !cancelled.load(std::memory_order_relaxed)) {
    const uint32_t count = std::min(most, total - result.computed_tokens);
    const bool last = result.computed_tokens + count == total;
    TRY(result.token, append(rest.subspan(result.computed_tokens, count), sampling,
                             last ? exec::Outputs::kLast : exec::Outputs::kNone));
    result.computed_tokens += count;
    if (progress) progress(result.computed_tokens, total);
  }
  return result;
}

StatusOr<int32_t> Sequence::step(int32_t id, const sample::Settings& sampling) {
  TRY(const auto token, append({&id, 1}, sampling, exec::Outputs::kLast));
  return *token;
}

}  // namespace motley::engine
