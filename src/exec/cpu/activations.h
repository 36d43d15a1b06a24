// The rows that go into a matrix product, [T, cols] in f32, with the forms that kernels want (codes with a scale a
// group, sums a group), each derived at most once for one content.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "kernels/table.h"

namespace motley::exec {

// What every operation of the CPU device works with.
struct CpuContext {
  const kernels::KernelTable& table;
  ThreadPool& pool;
};

// Bytes to read (weights or keys and values, for each token) below which one thread does all: some twenty microseconds,
// in which another one hardly wakes; and where something else holds a core, each wait for it costs milliseconds.
inline constexpr uint64_t kBytesWorthSharing = 256 << 10;

// Calls body(token) for each token, in parallel when there is enough to share.
template <typename Body>
void for_tokens(ThreadPool& pool, uint32_t tokens, const Body& body) {
  // A single token's element-wise work is shorter than waking a thread.
  pool.for_ranges(tokens, 1, ThreadPool::Share::kContiguous, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t token = begin; token < end; ++token) body(static_cast<uint32_t>(token));
  });
}

class Activations {
 public:
  // `orders`: permutations of the columns that matrices want (act-order), by address.
  static StatusOr<Activations> create(uint32_t max_tokens, uint32_t cols,
                                      std::span<const std::span<const uint32_t>> orders = {});

  uint32_t cols() const { return cols_; }
  uint32_t tokens() const { return tokens_; }
  float* row(uint32_t token) { return data_ + size_t{token} * cols_; }
  std::span<float> all() { return {data_, size_t{tokens_} * cols_}; }

  // New content of `tokens` rows is about to be written: what was derived from the old is stale.
  void begin(uint32_t tokens);

  // These rows in another order of columns, one that was named at creation; made once for one content. Empty: as they
  // are.
  Activations& ordered(const CpuContext& cpu, std::span<const uint32_t> order);

  // The rows for matmul_exact; with sums over groups of `sum_group` inputs unless that is 0.
  kernels::FloatRows floats(const CpuContext& cpu, uint32_t sum_group);
  // The rows for matmul_fast, quantised in groups of `group` inputs.
  kernels::QuantizedRows quantized(const CpuContext& cpu, uint32_t group);

 private:
  // Derived forms live behind the rows in the same block, sized for max_tokens; pages are resident only once used.
  struct Quantized {
    bool current = false;
    int16_t* codes = nullptr;
    float* scales = nullptr;
    int32_t* sums = nullptr;
    int32_t* half_sums = nullptr;
  };

  // Column k holds column order[k] of the rows.
  struct Ordered {
    std::span<const uint32_t> order;
    bool current = false;
    std::unique_ptr<Activations> rows;
  };

  struct Sums {
    bool current = false;
    float* values = nullptr;
  };

  MemoryBlock memory_;
  uint32_t cols_ = 0;
  uint32_t tokens_ = 0;
  float* data_ = nullptr;
  std::map<uint32_t, Quantized> quantized_;
  std::map<uint32_t, Sums> sums_;
  std::vector<Ordered> ordered_;
};

}  // namespace motley::exec
