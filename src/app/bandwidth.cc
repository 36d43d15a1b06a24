#include "app/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/thread_pool.h"

namespace motley::app {
namespace {

// Larger than the last-level caches of today's processors, or a quarter of what is free where that is less.
constexpr uint64_t kBlockBytes = uint64_t{512} << 20;
constexpr int kPasses = 5;
constexpr uint64_t kGrainBytes = uint64_t{1} << 21;

// Four independent sums, so that adding never waits for the sum before.
uint64_t sum(const std::byte* begin, const std::byte* end) {
  constexpr size_t kWords = 4;
  uint64_t sums[kWords] = {};
  for (const std::byte* at = begin; at + sizeof(sums) <= end; at += sizeof(sums)) {
    uint64_t words[kWords];
    std::memcpy(words, at, sizeof(words));
    for (size_t i = 0; i < kWords; ++i) sums[i] += words[i];
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

}  // namespace

StatusOr<double> read_bandwidth_bytes_per_s(uint32_t threads) {
  ThreadPool pool(threads == 0 ? default_threads() : threads);
  TRY(const MemoryBlock block, MemoryBlock::allocate(std::min(kBlockBytes, available_memory_bytes() / 4)));
  const uint64_t size = block.size_bytes();
  std::vector<uint64_t> sums(pool.size());
  const auto pass = [&] {
    const auto start = std::chrono::steady_clock::now();
    pool.for_ranges(size, kGrainBytes, ThreadPool::Share::kContiguous,
                    [&](uint64_t begin, uint64_t end, uint32_t thread) {
                      sums[thread] += sum(block.data() + begin, block.data() + end);
                    });
    return static_cast<double>(size) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::memset(block.data(), 1, size);  // pages that were never written are all the same one
  double best = 0;
  for (int i = 0; i < kPasses; ++i) best = std::max(best, pass());
  volatile uint64_t used = sums[0];  // else the compiler may find that nobody wants the sums
  static_cast<void>(used);
  return best;
}

}  // namespace motley::app
