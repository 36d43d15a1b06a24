#include "exec/cpu/kv_cache.h"

#include <algorithm>
#include <cstring>

namespace motley::exec {
namespace {

constexpr uint32_t kLanes = kernels::kPanelRows;

Status unknown(SequenceId sequence) { return absl::NotFoundError(fmt::format("no sequence {}", sequence)); }

// Keys lie with their tokens in lanes: element d of slot s is at [s/16][d][s%16].
template <typename T>
void scatter_key(const T* key, uint32_t head_dim, uint32_t slot, T* out) {
  T* lane = out + size_t{slot / kLanes} * kLanes * head_dim + slot % kLanes;
  for (uint32_t d = 0; d < head_dim; ++d) lane[size_t{d} * kLanes] = key[d];
}

}  // namespace

StatusOr<KvCache> KvCache::create(std::vector<KvBlockShape> blocks, tensor::DType dtype, uint64_t capacity_tokens) {
  KvCache cache;
  cache.dtype_ = dtype;
  cache.element_bytes_ = tensor::size_bytes(dtype);
  uint64_t page_bytes = 0;
  for (const KvBlockShape& block : blocks) {
    cache.offsets_.push_back(page_bytes);
    page_bytes += 2 * cache.element_bytes_ * kPageTokens * block.kv_heads * block.head_dim;
  }
  cache.blocks_ = std::move(blocks);
  // One page more than the tokens need: a fork of a full cache must be able to copy its last page.
  const uint64_t pages = (capacity_tokens + kPageTokens - 1) / kPageTokens + 1;
  TRY(cache.pool_, kv::PagePool::create(page_bytes, static_cast<uint32_t>(pages)));
  return cache;
}

uint64_t KvCache::bytes_for(uint64_t tokens) const {
  return (tokens + kPageTokens - 1) / kPageTokens * pool_.page_bytes();
}

Status KvCache::create_sequence(SequenceId sequence) {
  if (!sequences_.try_emplace(sequence, kPageTokens).second)
    return absl::AlreadyExistsError(fmt::format("sequence {} exists", sequence));
  return absl::OkStatus();
}

Status KvCache::fork(SequenceId parent, SequenceId child, uint32_t length) {
  const auto found = sequences_.find(parent);
  if (found == sequences_.end()) return unknown(parent);
  if (length > found->second.length())
    return absl::InvalidArgumentError(
        fmt::format("cannot fork {} tokens of a sequence of {}", length, found->second.length()));
  if (sequences_.contains(child)) return absl::AlreadyExistsError(fmt::format("sequence {} exists", child));
  sequences_.emplace(child, found->second.fork(pool_, length));
  return absl::OkStatus();
}

Status KvCache::truncate(SequenceId sequence, uint32_t length) {
  TRY(kv::PageTable * table, find(sequence));
  if (length > table->length())
    return absl::InvalidArgumentError(
        fmt::format("cannot truncate a sequence of {} tokens to {}", table->length(), length));
  table->truncate(pool_, length);
  return absl::OkStatus();
}

Status KvCache::drop(SequenceId sequence) {
  TRY(kv::PageTable * table, find(sequence));
  table->clear(pool_);
  sequences_.erase(sequence);
  return absl::OkStatus();
}

StatusOr<Snapshot> KvCache::snapshot(SequenceId sequence) const {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return unknown(sequence);
  Snapshot result{.length = found->second.length(), .bytes = {}};
  for (const kv::PageId page : found->second.pages()) {
    const std::byte* data = pool_.data(page);
    result.bytes.insert(result.bytes.end(), data, data + pool_.page_bytes());
  }
  return result;
}

Status KvCache::restore(SequenceId sequence, const Snapshot& snapshot) {
  if (snapshot.bytes.size() != bytes_for(snapshot.length))
    return absl::InvalidArgumentError(fmt::format("a snapshot of {} tokens has {} bytes, got {}", snapshot.length,
                                                  bytes_for(snapshot.length), snapshot.bytes.size()));
  if (sequences_.contains(sequence)) return absl::AlreadyExistsError(fmt::format("sequence {} exists", sequence));
  kv::PageTable table(kPageTokens);
  TRY(table.reserve(pool_, snapshot.length));
  table.commit(snapshot.length);
  const std::byte* from = snapshot.bytes.data();
  for (const kv::PageId page : table.pages()) {
    std::memcpy(pool_.data(page), from, pool_.page_bytes());
    from += pool_.page_bytes();
  }
  sequences_.emplace(sequence, std::move(table));
  return absl::OkStatus();
}

StatusOr<kv::PageTable*> KvCache::find(SequenceId sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return unknown(sequence);
  return &found->second;
}

void KvCache::store(const kernels::KernelTable& table, const kv::PageTable& pages, uint32_t block, uint32_t position,
                    const float* k, const float* v) const {
  const auto [kv_heads, head_dim] = blocks_[block];
  const kv::PageId page = pages.pages()[position / kPageTokens];
  const uint32_t slot = position % kPageTokens;
  std::vector<uint16_t> half(dtype_ == tensor::DType::kF16 ? head_dim : 0);
  for (uint32_t head = 0; head < kv_heads; ++head) {
    const float* key = k + size_t{head} * head_dim;
    const float* value = v + size_t{head} * head_dim;
    std::byte* keys_out = keys(page, block, head);
    std::byte* value_out = values(page, block, head) + size_t{slot} * head_dim * element_bytes_;
    if (dtype_ == tensor::DType::kF32) {
      scatter_key(key, head_dim, slot, reinterpret_cast<float*>(keys_out));
      std::memcpy(value_out, value, head_dim * sizeof(float));
    } else {
      table.to_f16(key, head_dim, half.data());
      scatter_key(half.data(), head_dim, slot, reinterpret_cast<uint16_t*>(keys_out));
      table.to_f16(value, head_dim, reinterpret_cast<uint16_t*>(value_out));
    }
  }
}

}  // namespace motley::exec
