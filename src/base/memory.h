// Large blocks of memory straight from the operating system: zeroed, page-aligned, resident only where touched. For
// weights, KV pages and scratch; small things use the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace motley {

// Owner of one anonymous mapping; movable. Threads: plain memory.
class MemoryBlock {
 public:
  // ResourceExhausted when the system refuses. `size_bytes` of zero gives an empty block.
  static StatusOr<MemoryBlock> allocate(uint64_t size_bytes);

  MemoryBlock() = default;
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;
  ~MemoryBlock();

  std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return size_bytes_; }
  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }

  // Keeps the block in memory (mlock). FailedPrecondition names the limit to raise.
  Status lock() const;

 private:
  std::byte* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// Highest resident set of this process so far, and what it is now.
uint64_t peak_memory_bytes();

// Gives memory that was freed back to the system now. Worth calling once after something large and short-lived, such as
// reading a vocabulary: the heap would keep it otherwise.
void return_free_memory();

// What this process may still use: the smaller of free system memory and what its cgroup allows.
uint64_t available_memory_bytes();

}  // namespace motley
