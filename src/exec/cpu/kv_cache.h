// Keys and values of a program's sequences on the CPU: the page pool, one page table a sequence, and where each layer
// and head lies inside a page (kernels/table.h gives the layout that attention reads).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "exec/device.h"
#include "kernels/table.h"
#include "kv/page_pool.h"
#include "kv/page_table.h"

namespace motley::exec {

// Heads of one attention block in every page.
struct KvBlockShape {
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;
};

class KvCache {
 public:
  static constexpr uint32_t kPageTokens = kernels::AttentionArgs::kPageTokens;

  static StatusOr<KvCache> create(std::vector<KvBlockShape> blocks, tensor::DType dtype, uint64_t capacity_tokens);

  Status create_sequence(SequenceId sequence);
  Status fork(SequenceId parent, SequenceId child, uint32_t length);
  Status truncate(SequenceId sequence, uint32_t length);
  Status drop(SequenceId sequence);
  StatusOr<Snapshot> snapshot(SequenceId sequence) const;
  Status restore(SequenceId sequence, const Snapshot& snapshot);
  StatusOr<kv::PageTable*> find(SequenceId sequence);

  Status reserve(kv::PageTable& table, uint32_t new_length) { return table.reserve(pool_, new_length); }

  tensor::DType dtype() const { return dtype_; }
  uint64_t bytes_for(uint64_t tokens) const;

  // First byte of the keys or values of one head of one attention block in `page`.
  std::byte* keys(kv::PageId page, uint32_t block, uint32_t head) const {
    return pool_.data(page) + offset(block, head);
  }
  std::byte* values(kv::PageId page, uint32_t block, uint32_t head) const {
    return keys(page, block, head) + kPageTokens * blocks_[block].head_dim * element_bytes_;
  }

  // Stores one token's K and V ([kv_heads * head_dim] each) at `position`.
  void store(const kernels::KernelTable& table, const kv::PageTable& pages, uint32_t block, uint32_t position,
             const float* k, const float* v) const;

 private:
  uint64_t offset(uint32_t block, uint32_t head) const {
    return offsets_[block] + uint64_t{head} * 2 * kPageTokens * blocks_[block].head_dim * element_bytes_;
  }

  std::vector<KvBlockShape> blocks_;
  std::vector<uint64_t> offsets_;  // of each block inside a page
  tensor::DType dtype_ = tensor::DType::kF32;
  uint64_t element_bytes_ = 4;
  kv::PagePool pool_;
  std::map<SequenceId, kv::PageTable> sequences_;
};

}  // namespace motley::exec
