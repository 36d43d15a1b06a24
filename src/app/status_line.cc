#include "app/status_line.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/terminal.h"
#include "fmt/format.h"

namespace motley::app {
namespace {

using namespace std::chrono_literals;

// What is over sooner is not worth a flicker.
constexpr auto kQuiet = 300ms;
constexpr auto kRefresh = 200ms;

constexpr uint64_t kBarColumns = 16;

// "0:06", "12:34", "1:02:03".
std::string clock_time(uint64_t seconds) {
  const uint64_t minutes = seconds / 60, hours = minutes / 60;
  if (hours == 0) return fmt::format("{}:{:02}", minutes, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", hours, minutes % 60, seconds % 60);
}

}  // namespace

void show_status(const std::string& text) {
  if (!is_terminal(StandardStream::kError)) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

std::string progress_bar(const Progress& progress) {
  const uint64_t filled = progress.total == 0 ? kBarColumns : kBarColumns * progress.done / progress.total;
  std::string line;
  for (uint64_t column = 0; column < kBarColumns; ++column) line += column < filled ? "█" : "░";
  line += fmt::format(" {}/{} {}", progress.done, progress.total, progress.unit);
  if (progress.done == 0 || progress.elapsed_s <= 0) return line;
  const double rate_per_s = static_cast<double>(progress.done) / progress.elapsed_s;
  const double left_s = static_cast<double>(progress.total - progress.done) / rate_per_s;
  return line + fmt::format(", {:.1f} {}/s, {} left", rate_per_s, progress.unit, clock_time(std::llround(left_s)));
}

Activity::Activity(std::string text) : text_(std::move(text)) {
  if (is_terminal(StandardStream::kError))
    thread_ = std::jthread([this](const std::stop_token& token) { show(token); });
}

Activity::~Activity() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Activity::show(const std::stop_token& finished) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, finished, kQuiet, [] { return false; });
  while (!finished.stop_requested()) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    show_status(fmt::format("{} … {} s", text_, elapsed.count()));
    wake_.wait_for(lock, finished, kRefresh, [] { return false; });
  }
  if (std::chrono::steady_clock::now() - start >= kQuiet) show_status("");
}

}  // namespace motley::app
