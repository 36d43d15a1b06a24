#include "base/thread_pool.h"

#include <mutex>
#include <numeric>

#include "gtest/gtest.h"

namespace motley {
namespace {

class ThreadPoolTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ThreadPoolTest, EveryThreadTakesEveryStepOnce) {
  ThreadPool pool(GetParam());
  std::vector<int> calls(pool.size());
  for (int step = 0; step < 1000; ++step) pool.run([&](uint32_t thread) { ++calls[thread]; });
  EXPECT_EQ(calls, std::vector<int>(pool.size(), 1000));
}

TEST_P(ThreadPoolTest, RangesCoverEachIndexOnce) {
  ThreadPool pool(GetParam());
  for (const auto share : {ThreadPool::Share::kContiguous, ThreadPool::Share::kDynamic}) {
    for (const uint64_t count : {0u, 1u, 15u, 16u, 17u, 1000u}) {
      std::vector<int> hits(count);
      std::mutex mutex;
      pool.for_ranges(count, 16, share, [&](uint64_t begin, uint64_t end, uint32_t) {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(begin % 16, 0u);
        for (uint64_t i = begin; i < end; ++i) ++hits[i];
      });
      EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), uint64_t{0}), count);
      EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), static_cast<int64_t>(count));
    }
  }
}

// Sleeping workers must wake up: steps far apart find them waiting, not spinning.
TEST_P(ThreadPoolTest, StepsAfterAPauseStillRun) {
  ThreadPool pool(GetParam());
  std::atomic<uint32_t> calls = 0;
  for (int step = 0; step < 5; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pool.run([&](uint32_t) { ++calls; });
  }
  EXPECT_EQ(calls, 5 * pool.size());
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, testing::Values(1, 2, 3, 7));

}  // namespace
}  // namespace motley
