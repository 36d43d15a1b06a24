// One sequence's pages in order, with sharing: a fork points at its parent's pages, and the last, partly filled page is
// copied when one of them writes on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace motley::kv {

// Owner: whoever holds it must call clear() on the pool it grew from before it goes. Threads: one caller at a time.
class PageTable {
 public:
  explicit PageTable(uint32_t page_tokens) : page_tokens_(page_tokens) {}

  uint32_t length() const { return length_; }
  std::span<const PageId> pages() const { return pages_; }

  // Makes positions [length, new_length) writable: takes pages, copies a shared last page. Nothing changes on error.
  // Does not move length(): commit() does, when the positions are filled.
  Status reserve(PagePool& pool, uint32_t new_length);
  void commit(uint32_t new_length) { length_ = new_length; }

  // Gives back pages that lie wholly behind `length` (at most length()).
  void truncate(PagePool& pool, uint32_t length);
  void clear(PagePool& pool) { truncate(pool, 0); }

  // A table that shares the pages of the first `length` tokens (at most length()).
  PageTable fork(PagePool& pool, uint32_t length) const;

 private:
  size_t pages_for(uint32_t tokens) const { return (tokens + page_tokens_ - 1) / page_tokens_; }

  uint32_t page_tokens_;
  uint32_t length_ = 0;
  std::vector<PageId> pages_;
};

}  // namespace motley::kv
