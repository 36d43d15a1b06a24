// One line on a terminal's standard error that says what takes long, and vanishes when it is done. Silent everywhere
// else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace motley::app {

// Shows "TEXT … 3 s" from shortly after its construction until its destruction, with a thread of its own.
class Activity {
 public:
  explicit Activity(std::string text);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  void show(const std::stop_token& finished);

  std::string text_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

// Replaces the line; empty text takes it away.
void show_status(const std::string& text);

struct Progress {
  uint64_t done = 0, total = 0;
  double elapsed_s = 0;
  std::string_view unit = "tokens";
};
// "████░░░░░░░░░░░░ 128/512 tokens, 64.0 tokens/s, 0:06 left", at most 64 columns wide for a million tokens. Rate and
// time appear once something is done.
std::string progress_bar(const Progress& progress);

}  // namespace motley::app
