#include "app/logits_stream.h"

#include <algorithm>

namespace motley::app {

Status check_ids(std::span<const int32_t> ids, uint32_t vocabulary, std::string_view where) {
  for (const int32_t id : ids)
    REJECT_IF(id < 0 || static_cast<uint32_t>(id) >= vocabulary, "app.ids", where,
              fmt::format("ids of {} tokens", vocabulary), id);
  return absl::OkStatus();
}

LogitsStream::LogitsStream(exec::Runner& runner, std::span<const int32_t> ids, uint32_t chunk_tokens, Positions wanted)
    : runner_(runner), ids_(ids), chunk_tokens_(chunk_tokens), wanted_(wanted) {}

LogitsStream::~LogitsStream() {
  if (sequence_) runner_.drop(*sequence_).IgnoreError();  // nobody is left to hear of it
}

StatusOr<std::vector<float>> LogitsStream::next() {
  if (!sequence_) {
    TRY(sequence_, runner_.create(static_cast<uint32_t>(ids_.size())));
  }
  const auto chunk = ids_.subspan(computed_tokens_, std::min<size_t>(chunk_tokens_, ids_.size() - computed_tokens_));
  exec::Row row;
  row.sequence = *sequence_;
  row.position = static_cast<uint32_t>(computed_tokens_);
  row.ids.assign(chunk.begin(), chunk.end());
  row.kind = exec::OutputKind::kLogits;
  const bool last = computed_tokens_ + chunk.size() == ids_.size();
  row.outputs = wanted_ == Positions::kAll ? exec::Outputs::kAll : last ? exec::Outputs::kLast : exec::Outputs::kNone;
  exec::Batch batch;
  batch.rows.push_back(std::move(row));
  TRY(exec::Results results, runner_.step(std::move(batch)).get());
  computed_tokens_ += chunk.size();
  return std::move(results.rows.at(0).logits);
}

}  // namespace motley::app
