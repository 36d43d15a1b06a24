#include "exec/cpu/activations.h"

#include <algorithm>

namespace motley::exec {
namespace {

// Groups that storage formats have; a form is laid out only when cols is a multiple.
constexpr uint32_t kQuantizedGroups[] = {32};
constexpr uint32_t kSumGroups[] = {32, 64, 128};
constexpr uint32_t kHalfGroup = 16;
// Between rows of codes, a cache line: rows a power of two apart would push each other out of the cache.
constexpr uint32_t kCodesGap = 32;

// Hands out 64-byte aligned parts of one block; first pass without memory to learn the size.
class Layout {
 public:
  explicit Layout(std::byte* base) : base_(base) {}

  template <typename T>
  T* take(uint64_t count) {
    const uint64_t offset = used_;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }
  uint64_t used() const { return used_; }

 private:
  std::byte* base_;
  uint64_t used_ = 0;
};

}  // namespace

StatusOr<Activations> Activations::create(uint32_t max_tokens, uint32_t cols,
                                          std::span<const std::span<const uint32_t>> orders) {
  Activations result;
  result.cols_ = cols;
  const auto place = [&](Layout layout) {
    const uint64_t tokens = max_tokens;
    result.data_ = layout.take<float>(tokens * cols);
    for (const uint32_t group : kQuantizedGroups) {
      if (cols % group != 0) continue;
      Quantized& form = result.quantized_[group];
      form.codes = layout.take<int16_t>(tokens * (cols + kCodesGap));
      form.scales = layout.take<float>(tokens * cols / group);
      form.sums = layout.take<int32_t>(tokens * cols / group);
      form.half_sums = layout.take<int32_t>(tokens * cols / kHalfGroup);
    }
    for (const uint32_t group : kSumGroups)
      if (cols % group == 0) result.sums_[group].values = layout.take<float>(tokens * cols / group);
    return layout.used();
  };
  TRY(result.memory_, MemoryBlock::allocate(place(Layout(nullptr))));
  place(Layout(result.memory_.data()));
  for (const std::span<const uint32_t> order : orders) {
    TRY(Activations rows, create(max_tokens, cols));
    result.ordered_.push_back({.order = order, .rows = std::make_unique<Activations>(std::move(rows))});
  }
  return result;
}

void Activations::begin(uint32_t tokens) {
  tokens_ = tokens;
  for (auto& [group, form] : quantized_) form.current = false;
  for (auto& [group, sums] : sums_) sums.current = false;
  for (Ordered& ordered : ordered_) ordered.current = false;
}

Activations& Activations::ordered(const CpuContext& cpu, std::span<const uint32_t> order) {
  if (order.empty()) return *this;
  const auto found = std::find_if(ordered_.begin(), ordered_.end(),
                                  [&](const Ordered& known) { return known.order.data() == order.data(); });
  Ordered& ordered = *found;  // every order of the program's matrices was named
  if (!ordered.current) {
    ordered.rows->begin(tokens_);
    for_tokens(cpu.pool, tokens_, [&](uint32_t token) {
      const float* from = row(token);
      float* to = ordered.rows->row(token);
      for (uint32_t k = 0; k < cols_; ++k) to[k] = from[order[k]];
    });
    ordered.current = true;
  }
  return *ordered.rows;
}

kernels::FloatRows Activations::floats(const CpuContext& cpu, uint32_t sum_group) {
  kernels::FloatRows rows{.data = data_, .stride = cols_, .sums = nullptr, .tokens = tokens_};
  if (sum_group == 0) return rows;
  Sums& sums = sums_.at(sum_group);
  if (!sums.current) {
    for_tokens(cpu.pool, tokens_, [&](uint32_t token) {
      cpu.table.group_sums(row(token), cols_, sum_group, sums.values + size_t{token} * (cols_ / sum_group));
    });
    sums.current = true;
  }
  rows.sums = sums.values;
  return rows;
}

kernels::QuantizedRows Activations::quantized(const CpuContext& cpu, uint32_t group) {
  Quantized& form = quantized_.at(group);
  const size_t stride = size_t{cols_} + kCodesGap, groups = cols_ / group, halves = cols_ / kHalfGroup;
  if (!form.current) {
    for_tokens(cpu.pool, tokens_, [&](uint32_t token) {
      cpu.table.quantize_row(row(token), cols_, group, form.codes + token * stride, form.scales + token * groups,
                             form.sums + token * groups, form.half_sums + token * halves);
    });
    form.current = true;
  }
  return {.codes = form.codes,
          .stride = stride,
          .scales = form.scales,
          .sums = form.sums,
          .half_sums = form.half_sums,
          .group = group,
          .groups = groups,
          .tokens = tokens_};
}

}  // namespace motley::exec
