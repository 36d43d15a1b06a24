#include "app/status_line.h"

#include <chrono>
#include <cstdio>

#include "base/terminal.h"
#include "fmt/format.h"

namespace motley::app {
namespace {

using namespace std::chrono_literals;

// What is over sooner is not worth a flicker.
constexpr auto kQuiet = 300ms;
constexpr auto kRefresh = 200ms;

}  // namespace

void show_status(const std::string& text) {
  if (!is_terminal(StandardStream::kError)) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
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
