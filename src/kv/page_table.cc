#include "kv/page_table.h"

#include <cstring>

namespace motley::kv {

Status PageTable::reserve(PagePool& pool, uint32_t new_length) {
  const size_t wanted = pages_for(new_length);
  const bool copy_last =
      length_ % page_tokens_ != 0 && new_length > length_ && pool.references(pages_[length_ / page_tokens_]) > 1;
  const size_t fresh = (wanted > pages_.size() ? wanted - pages_.size() : 0) + (copy_last ? 1 : 0);
  if (fresh > pool.free_pages())
    return absl::ResourceExhaustedError(fmt::format("the KV cache has {} free pages of {} tokens, {} are needed",
                                                    pool.free_pages(), page_tokens_, fresh));
  if (copy_last) {
    PageId& last = pages_[length_ / page_tokens_];
    TRY(const PageId copy, pool.allocate());
    std::memcpy(pool.data(copy), pool.data(last), pool.page_bytes());
    pool.release(last);
    last = copy;
  }
  while (pages_.size() < wanted) {
    TRY(const PageId page, pool.allocate());
    pages_.push_back(page);
  }
  return absl::OkStatus();
}

void PageTable::truncate(PagePool& pool, uint32_t length) {
  while (pages_.size() > pages_for(length)) {
    pool.release(pages_.back());
    pages_.pop_back();
  }
  length_ = length;
}

PageTable PageTable::fork(PagePool& pool, uint32_t length) const {
  PageTable child(page_tokens_);
  child.pages_.assign(pages_.begin(), pages_.begin() + static_cast<ptrdiff_t>(pages_for(length)));
  child.length_ = length;
  for (const PageId page : child.pages_) pool.retain(page);
  return child;
}

}  // namespace motley::kv
