// The KV memory of one device: equal pages with reference counts, so that sequences can share a beginning. What a page
// holds is the device's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "base/status.h"

namespace motley::kv {

using PageId = uint32_t;

// Owner: a device program. Threads: one caller at a time. Memory becomes resident only when a page is written.
class PagePool {
 public:
  // ResourceExhausted when the address space cannot be had.
  static StatusOr<PagePool> create(uint64_t page_bytes, uint32_t max_pages);

  // A page with one reference. ResourceExhausted when all are taken. Its content is undefined.
  StatusOr<PageId> allocate();
  void retain(PageId page) { ++references_[page]; }
  void release(PageId page);

  std::byte* data(PageId page) const { return memory_.data() + page * page_bytes_; }
  uint32_t references(PageId page) const { return references_[page]; }
  uint64_t page_bytes() const { return page_bytes_; }
  uint32_t free_pages() const { return static_cast<uint32_t>(free_.size()); }

 private:
  MemoryBlock memory_;
  uint64_t page_bytes_ = 0;
  std::vector<uint32_t> references_;
  std::vector<PageId> free_;  // last one is given out next: the one most likely still resident
};

}  // namespace motley::kv
