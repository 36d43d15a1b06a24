#include "ingest/layout.h"

#include <algorithm>
#include <unordered_set>

#include "base/checked.h"

namespace motley::ingest {
namespace {

constexpr size_t kLongestName = 1024;  // longest published: about 100

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Status check_layout(std::span<const Tensor> tensors, const LayoutRules& rules, std::string_view file) {
  std::vector<const Tensor*> in_order;
  for (const Tensor& tensor : tensors) in_order.push_back(&tensor);
  std::sort(in_order.begin(), in_order.end(), [](const Tensor* a, const Tensor* b) {
    return std::pair(a->range.offset, a->range.end()) < std::pair(b->range.offset, b->range.end());
  });
  uint64_t end = rules.data_begin;
  for (const Tensor* tensor : in_order) {
    const std::string where = fmt::format("{} tensor {}", file, tensor->name);
    REJECT_IF(tensor->range.offset < end, rules.overlap_site, where,
              fmt::format("a beginning at byte {} or later", end),
              fmt::format("byte {}, inside another tensor", tensor->range.offset));
    REJECT_IF(tensor->range.offset > checked_align_up(end, rules.alignment).value_or(0), rules.gap_site, where,
              fmt::format("a beginning at byte {}", checked_align_up(end, rules.alignment).value_or(0)),
              tensor->range.offset);
    end = std::max(end, tensor->range.end());
  }
  REJECT_IF(rules.file_size_bytes > end && rules.file_size_bytes - end >= rules.alignment, rules.trailing_site, file,
            fmt::format("an end at byte {}, after the last tensor", end), rules.file_size_bytes);
  return absl::OkStatus();
}

Status check_tensors(std::span<const Tensor> tensors) {
  std::unordered_set<std::string_view> seen;
  for (const Tensor& tensor : tensors) {
    const std::string& file = tensor.source->name();
    REJECT_IF(tensor.name.empty() || tensor.name.size() > kLongestName || !printable(tensor.name),
              "container.tensor_name", file, fmt::format("tensor names of 1 to {} printable characters", kLongestName),
              "another one");
    REJECT_IF(!seen.insert(tensor.name).second, "container.tensor_twice", file, "each tensor once",
              fmt::format("{} again", tensor.name));
    const uint64_t size_bytes = tensor.source->size_bytes();
    REJECT_IF(tensor.range.offset > size_bytes || tensor.range.size_bytes > size_bytes - tensor.range.offset,
              "container.tensor_range", file, fmt::format("{} inside the file's {} bytes", tensor.name, size_bytes),
              fmt::format("{} bytes at {}", tensor.range.size_bytes, tensor.range.offset));
  }
  return absl::OkStatus();
}

}  // namespace motley::ingest
