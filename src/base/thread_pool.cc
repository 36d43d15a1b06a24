#include "base/thread_pool.h"

#include <algorithm>

namespace motley {
namespace {

// About 50 us on a 3 GHz core: longer than any serial stretch between two steps of a token, short enough not to burn a
// core while a person thinks.
constexpr int kSpins = 2000;

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `old`: spinning first, then asleep.
void wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause_core();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) {
  for (uint32_t thread = 1; thread < std::max(threads, 1u); ++thread)
    workers_.emplace_back([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
}

void ThreadPool::work(uint32_t thread) {
  uint32_t seen = 0;
  while (true) {
    wait_for_change(generation_, seen);
    ++seen;
    if (stopping_) return;
    (*step_)(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void ThreadPool::run(const std::function<void(uint32_t)>& step) {
  step_ = &step;
  running_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  step(0);
  for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;) wait_for_change(running_, left);
}

void ThreadPool::for_ranges(uint64_t count, uint64_t grain, Share share,
                            const std::function<void(uint64_t, uint64_t, uint32_t)>& body) {
  const uint64_t pieces = (count + grain - 1) / grain;
  if (pieces <= 1 || workers_.empty()) {
    if (count > 0) body(0, count, 0);
    return;
  }
  if (share == Share::kContiguous) {
    run([&](uint32_t thread) {
      const uint64_t begin = pieces * thread / size() * grain;
      const uint64_t end = std::min(pieces * (thread + 1) / size() * grain, count);
      if (begin < end) body(begin, end, thread);
    });
    return;
  }
  std::atomic<uint64_t> next{0};
  run([&](uint32_t thread) {
    for (uint64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;)
      body(piece * grain, std::min((piece + 1) * grain, count), thread);
  });
}

}  // namespace motley
