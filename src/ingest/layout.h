// Checks on how the tensors of one file lie in it: nothing shared, nothing between, nothing behind.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

struct LayoutRules {
  uint64_t data_begin = 0;
  uint64_t file_size_bytes = 0;
  uint64_t alignment = 1;  // a tensor may be followed by less than this many bytes of padding
  std::string_view overlap_site, gap_site, trailing_site;
};

// `tensors` are those of one file, in any order, each already inside it.
Status check_layout(std::span<const Tensor> tensors, const LayoutRules& rules, std::string_view file);

// What every container promises about its tensors: names are unique over all files ("container.tensor_twice") and can
// be printed
// ("container.tensor_name"), ranges lie inside their sources ("container.tensor_range").
Status check_tensors(std::span<const Tensor> tensors);

}  // namespace motley::ingest
