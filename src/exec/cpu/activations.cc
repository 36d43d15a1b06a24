#include "exec/cpu/activations.h"

namespace motley::exec {
namespace {

// Groups that storage formats have; a form is laid out only when cols is a multiple.
constexpr uint32_t kQuantizedGroups[] = {32};
constexpr uint32_t kSumGroups[] = {32, 64, 128};
constexpr uint32_t kHalfGroup = 16;

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

StatusOr<Activations> Activations::create(uint32_t max_tokens, uint32_t cols) {
  Activations result;
  result.cols_ = cols;
  const auto place = [&](Layout layout) {
    const uint64_t terms = uint64_t{max_tokens} * kTerms;
    result.data_ = layout.take<float>(uint64_t{max_tokens} * cols);
    result.rest_ = layout.take<float>(uint64_t{max_tokens} * cols);
    for (const uint32_t group : kQuantizedGroups) {
      if (cols % group != 0) continue;
      Quantized& form = result.quantized_[group];
      form.codes = layout.take<int8_t>(terms * cols);
      form.scales = layout.take<float>(terms * cols / group);
      form.sums = layout.take<int32_t>(terms * cols / group);
      form.half_sums = layout.take<int32_t>(terms * cols / kHalfGroup);
    }
    for (const uint32_t group : kSumGroups)
      if (cols % group == 0) result.sums_[group].values = layout.take<float>(uint64_t{max_tokens} * cols / group);
    return layout.used();
  };
  TRY(result.memory_, MemoryBlock::allocate(place(Layout(nullptr))));
  place(Layout(result.memory_.data()));
  return result;
}

void Activations::begin(uint32_t tokens) {
  tokens_ = tokens;
  for (auto& [group, form] : quantized_) form.current = false;
  for (auto& [group, sums] : sums_) sums.current = false;
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

void Activations::quantize(const CpuContext& cpu, uint32_t group, const Quantized& form, uint32_t token) {
  const size_t groups = cols_ / group, halves = cols_ / kHalfGroup;
  const auto term = [&](const float* x, size_t index) {
    cpu.table.quantize_row(x, cols_, group, form.codes + index * cols_, form.scales + index * groups,
                           form.sums + index * groups, form.half_sums + index * halves);
  };
  const float* x = row(token);
  float* rest = rest_ + size_t{token} * cols_;
  const size_t first = size_t{token} * kTerms;
  term(x, first);
  const int8_t* codes = form.codes + first * cols_;
  for (size_t g = 0; g < groups; ++g) {
    const float scale = form.scales[first * groups + g];
    for (size_t i = g * group; i < (g + 1) * group; ++i) rest[i] = x[i] - scale * static_cast<float>(codes[i]);
  }
  term(rest, first + 1);
}

kernels::QuantizedRows Activations::quantized(const CpuContext& cpu, uint32_t group) {
  Quantized& form = quantized_.at(group);
  if (!form.current) {
    for_tokens(cpu.pool, tokens_, [&](uint32_t token) { quantize(cpu, group, form, token); });
    form.current = true;
  }
  return {.codes = form.codes,
          .scales = form.scales,
          .sums = form.sums,
          .half_sums = form.half_sums,
          .group = group,
          .tokens = tokens_ * kTerms};
}

}  // namespace motley::exec
