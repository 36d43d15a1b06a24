// A fixed team of threads for short fork-join steps, as one token of a small model needs hundreds of a second. Workers
// spin briefly between steps and sleep when idle. Not a task queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace motley {

// Owner: a device. Threads: run() and friends are called by one thread at a time, which takes part as thread 0.
class ThreadPool {
 public:
  explicit ThreadPool(uint32_t threads);  // at least 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(workers_.size()) + 1; }

  // Calls step(thread) once on each thread, thread in [0, size()), and returns when all have finished.
  void run(const std::function<void(uint32_t thread)>& step);

  // Calls body(begin, end, thread) over [0, count). Contiguous: one run a thread, cut at multiples of `grain`, for work
  // that streams memory. Dynamic: pieces of `grain`, handed out as threads become free, for work that computes.
  enum class Share : uint8_t { kContiguous, kDynamic };
  void for_ranges(uint64_t count, uint64_t grain, Share share,
                  const std::function<void(uint64_t begin, uint64_t end, uint32_t thread)>& body);

 private:
  void work(uint32_t thread);

  std::vector<std::jthread> workers_;
  const std::function<void(uint32_t)>* step_ = nullptr;
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> running_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace motley
