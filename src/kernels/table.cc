#include "kernels/table.h"

#include <atomic>
#include <vector>

#include "fmt/format.h"
#include "kernels/tables.h"

namespace motley::kernels {
namespace {

// Every row with its empty slots filled, made on first use and never changed.
const std::vector<KernelTable>& rows() {
  static const std::vector<KernelTable> filled = [] {
    std::vector<KernelTable> tables;
#define MOTLEY_KERNEL_TABLE(set) \
  tables.push_back(tables.empty() ? set##_table() : inherit(set##_table(), tables.back()));
#include "kernels/tables.def"
#undef MOTLEY_KERNEL_TABLE
    return tables;
  }();
  return filled;
}

const KernelTable* best_supported() {
  const KernelTable* best = nullptr;
  for (const KernelTable& row : rows())
    if (row.supported()) best = &row;
  return best;
}

std::atomic<const KernelTable*>& chosen() {
  static std::atomic<const KernelTable*> current{best_supported()};
  return current;
}

}  // namespace

KernelTable inherit(const KernelTable& upper, const KernelTable& lower) {
  KernelTable table = upper;
  const auto fill = [](auto& slot, auto below) {
    if (slot == nullptr) slot = below;
  };
  fill(table.quantize_row, lower.quantize_row);
  fill(table.group_sums, lower.group_sums);
  fill(table.matmul_exact, lower.matmul_exact);
  fill(table.matmul_fast, lower.matmul_fast);
  fill(table.attention, lower.attention);
  fill(table.rms_norm, lower.rms_norm);
  fill(table.rope, lower.rope);
  fill(table.silu_mul, lower.silu_mul);
  fill(table.add, lower.add);
  fill(table.to_f16, lower.to_f16);
  return table;
}

std::span<const KernelTable* const> all_tables() {
  static const std::vector<const KernelTable*> pointers = [] {
    std::vector<const KernelTable*> list;
    for (const KernelTable& row : rows()) list.push_back(&row);
    return list;
  }();
  return pointers;
}

const KernelTable& table() { return *chosen().load(std::memory_order_acquire); }

Status set_table(std::string_view name) {
  std::string known;
  for (const KernelTable& row : rows()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    if (row.name != name) continue;
    if (!row.supported())
      return absl::FailedPreconditionError(fmt::format("kernels: this processor cannot run '{}'", name));
    chosen().store(&row, std::memory_order_release);
    return absl::OkStatus();
  }
  return absl::NotFoundError(fmt::format("kernels: expected one of {}, got '{}'", known, name));
}

}  // namespace motley::kernels
