// Memory for weights in a few large blocks, so that small matrices share huge pages too. Nothing is freed singly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "base/status.h"

namespace motley::exec {

class Arena {
 public:
  // 64-byte aligned, zeroed. ResourceExhausted when the system refuses.
  StatusOr<std::span<std::byte>> allocate(uint64_t size_bytes);
  // Keeps everything allocated so far in memory.
  Status lock() const;

 private:
  std::vector<MemoryBlock> blocks_;
  uint64_t used_bytes_ = 0;  // of the last block
};

}  // namespace motley::exec
