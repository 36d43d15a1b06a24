#include "kv/page_pool.h"

#include "base/checked.h"

namespace motley::kv {

StatusOr<PagePool> PagePool::create(uint64_t page_bytes, uint32_t max_pages) {
  const auto total_bytes = checked_multiply(page_bytes, max_pages);
  if (!total_bytes)
    return absl::ResourceExhaustedError(fmt::format("{} KV pages of {} bytes do not fit", max_pages, page_bytes));
  PagePool pool;
  TRY(pool.memory_, MemoryBlock::allocate(*total_bytes));
  pool.page_bytes_ = page_bytes;
  pool.references_.resize(max_pages);
  for (PageId page = max_pages; page > 0; --page) pool.free_.push_back(page - 1);
  return pool;
}

StatusOr<PageId> PagePool::allocate() {
  if (free_.empty())
    return absl::ResourceExhaustedError(fmt::format("all {} pages of the KV cache are in use", references_.size()));
  const PageId page = free_.back();
  free_.pop_back();
  references_[page] = 1;
  return page;
}

void PagePool::release(PageId page) {
  if (--references_[page] == 0) free_.push_back(page);
}

}  // namespace motley::kv
