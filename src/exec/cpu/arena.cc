#include "exec/cpu/arena.h"

#include <algorithm>

namespace motley::exec {
namespace {

constexpr uint64_t kAlignment = 64;
// 16 huge pages: the unused rest of the last block stays small beside any model worth running.
constexpr uint64_t kBlockBytes = uint64_t{32} << 20;

}  // namespace

StatusOr<std::span<std::byte>> Arena::allocate(uint64_t size_bytes) {
  const uint64_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || blocks_.back().size_bytes() - used_bytes_ < rounded) {
    TRY(MemoryBlock block, MemoryBlock::allocate(std::max(rounded, kBlockBytes)));
    blocks_.push_back(std::move(block));
    used_bytes_ = 0;
  }
  const auto result = blocks_.back().bytes().subspan(used_bytes_, size_bytes);
  used_bytes_ += rounded;
  return result;
}

Status Arena::lock() const {
  for (const MemoryBlock& block : blocks_) TRY(block.lock());
  return absl::OkStatus();
}

}  // namespace motley::exec
