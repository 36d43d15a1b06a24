#include "app/compare_run.h"

#include <chrono>
#include <optional>
#include <span>

#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/logits_stream.h"
#include "app/status_line.h"

namespace motley::app {
namespace {

// The status line that counts tokens, and is gone at the end whatever the end is.
class ComparedTokens {
 public:
  explicit ComparedTokens(uint64_t total) : total_(total) {}
  ~ComparedTokens() { show_status(""); }
  ComparedTokens(const ComparedTokens&) = delete;
  ComparedTokens& operator=(const ComparedTokens&) = delete;

  void show(uint64_t done) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    show_status("Comparing " + progress_bar({.done = done, .total = total_, .elapsed_s = elapsed.count()}));
  }

 private:
  uint64_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status check_numbers(const char* side, std::span<const float> logits, size_t position) {
  if (all_finite(logits)) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{}: logits from position {} on: expected numbers, got infinity or NaN", side, position));
}

// Appends the differences of the positions whose rows the two spans hold. `ids`: the window from the first of them on.
void append_differences(ThreadPool& pool, std::span<const float> a, std::span<const float> b,
                        std::span<const int32_t> ids, uint32_t vocabulary, std::vector<PositionDifference>& into) {
  const size_t rows = a.size() / vocabulary, before = into.size();
  into.resize(before + rows);
  pool.for_ranges(rows, 1, ThreadPool::Share::kDynamic, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t row = begin; row < end; ++row) {
      const auto next = row + 1 < ids.size() ? std::optional(ids[row + 1]) : std::nullopt;
      into[before + row] =
          difference_of(a.subspan(row * vocabulary, vocabulary), b.subspan(row * vocabulary, vocabulary), next);
    }
  });
}

Status run_window(const SideBySide& sides, std::span<const int32_t> window, const ComparedTokens& progress,
                  std::vector<PositionDifference>& into) {
  const uint32_t vocabulary = sides.a.facts().vocabulary;
  LogitsStream stream_a(sides.a, window, kCompareChunkTokens, LogitsStream::Positions::kAll);
  LogitsStream stream_b(sides.b, window, kCompareChunkTokens, LogitsStream::Positions::kAll);
  for (size_t done = 0; done < window.size();) {
    if (InterruptGuard::raised()) return quiet_end(ExitCode::kInterrupted);
    TRY(const std::vector<float> a, stream_a.next());
    TRY(const std::vector<float> b, stream_b.next());
    TRY(check_numbers("A", a, into.size()));
    TRY(check_numbers("B", b, into.size()));
    append_differences(sides.pool, a, b, window.subspan(done), vocabulary, into);
    done += a.size() / vocabulary;
    progress.show(into.size());
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<PositionDifference>> run_side_by_side(const SideBySide& sides,
                                                           const std::vector<std::vector<int32_t>>& windows) {
  uint64_t total = 0;
  for (const auto& window : windows) total += window.size();
  std::vector<PositionDifference> positions;
  const InterruptGuard guard;
  const ComparedTokens progress(total);
  progress.show(0);
  for (const auto& window : windows) TRY(run_window(sides, window, progress, positions));
  return positions;
}

}  // namespace motley::app
