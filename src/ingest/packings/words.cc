// GPTQ and AWQ: NAME.qweight in 32-bit words, NAME.qzeros, NAME.scales, and for act-order NAME.g_idx. The shapes tell
// whose words they are; the configuration tells the convention of the zero points. Layout: docs/formats.md.
#include <algorithm>
#include <array>
#include <numeric>

#include "ingest/packing.h"

namespace motley::ingest::packings_internal {
namespace {

using tensor::CodeOrder;
using tensor::DType;
using tensor::GridOrder;
using tensor::OffsetKind;
using tensor::OffsetOrder;

constexpr uint64_t kWordBits = 32;
constexpr uint64_t kMostInputs = 1 << 24;  // of a matrix with an order of inputs

enum class Layout : uint8_t { kGptq, kAwqGemm, kAwqGemv, kAwqGemvFast };

bool claims(const Module& module) { return module.has("qweight"); }

// Widths that GPTQ's words hold, for the number of words of a column.
std::optional<uint64_t> gptq_bits(uint64_t words, uint64_t cols) {
  for (const uint64_t bits : {2, 3, 4, 8})
    if (words * kWordBits == cols * bits) return bits;
  return std::nullopt;
}

struct Words {
  Layout layout = Layout::kGptq;
  uint64_t bits = 4;
};

// The layouts that the shape of qweight allows; shapes of square matrices allow several.
std::vector<Words> possible(const Tensor& qweight, uint64_t rows, uint64_t cols) {
  std::vector<Words> result;
  if (qweight.shape.size() != 2) return result;
  const uint64_t high = qweight.shape[0], wide = qweight.shape[1];
  if (qweight.type == StoredType(DType::kI16)) {
    if (high * 4 == rows && wide == cols) result.push_back({Layout::kAwqGemvFast, 4});
    return result;
  }
  if (const auto bits = gptq_bits(high, cols); bits && wide == rows) result.push_back({Layout::kGptq, *bits});
  if (high == cols && wide * 8 == rows) result.push_back({Layout::kAwqGemm, 4});
  if (high == rows && wide * 8 == cols) result.push_back({Layout::kAwqGemv, 4});
  return result;
}

// The layout that the configuration names; nullopt where it names none.
std::optional<Layout> named_layout(std::string_view word) {
  if (word == "gptq" || word == "gptq_v2") return Layout::kGptq;
  if (word == "gemm" || word == "exllama" || word == "exllamav2" || word == "ipex") return Layout::kAwqGemm;
  if (word == "gemv") return Layout::kAwqGemv;
  if (word == "gemv_fast" || word == "llm-awq") return Layout::kAwqGemvFast;
  return std::nullopt;
}

std::string_view layout_name(Layout layout) {
  constexpr std::array<std::string_view, 4> kNames = {"GPTQ", "AWQ", "AWQ gemv", "AWQ gemv_fast"};
  return kNames[static_cast<size_t>(layout)];
}

StatusOr<Words> choose(const Tensor& qweight, const model::RequiredWeight& required, const PackingClaim& claim) {
  const std::vector<Words> words = possible(qweight, required.rows, required.cols);
  const auto named = named_layout(claim.layout);
  // Others have words of the same shape: Marlin's tiles, gptq_p's planes.
  REJECT_IF(!named && !claim.layout.empty(), "words.layout", where(qweight),
            "words in GPTQ's or AWQ's own order (the checkpoint before it was repacked for one kernel)",
            fmt::format("\"{}\"", claim.layout));
  for (const Words& candidate : words)  // 16-bit words are one layout's only; llm-awq does not name it
    if (!named || *named == candidate.layout || candidate.layout == Layout::kAwqGemvFast) return candidate;
  return reject({.site = "words.qweight_shape",
                 .where = where(qweight),
                 .expected = fmt::format("the words of {} x {} numbers as {} lays them", required.rows, required.cols,
                                         named ? layout_name(*named) : "GPTQ or AWQ"),
                 .got = fmt::format("{} {}", describe(qweight.type), shape_text(qweight.shape))});
}

// --- scales and zero points

struct Groups {
  uint64_t size = 0;    // inputs
  uint64_t padded = 0;  // gemv: scales of a row
};

// AutoAWQ rounds the zero points of a row up to whole words, and those to a kernel's liking.
uint64_t gemv_zero_words(uint64_t groups, uint64_t group_size) {
  const uint64_t multiple = group_size >= 128 ? 1 : group_size == 64 ? 2 : 4;
  return ((groups + 7) / 8 + multiple - 1) / multiple * multiple;
}

StatusOr<Groups> find_groups(const Words& words, const Tensor& scales, const model::RequiredWeight& required,
                             const PackingClaim& claim) {
  const bool gemv = words.layout == Layout::kAwqGemv, fast = words.layout == Layout::kAwqGemvFast;
  const bool two = scales.shape.size() == 2 && scales.shape[gemv ? 0 : 1] == required.rows;
  const uint64_t count = !two ? 0 : scales.shape[gemv ? 1 : 0];
  Groups groups;
  if (claim.group_size) {
    groups.size = *claim.group_size == 0 ? required.cols : std::min(*claim.group_size, required.cols);
  } else if (count != 0 && !gemv && !fast && required.cols % count == 0) {
    groups.size = required.cols / count;
  }
  const uint64_t needed = groups.size == 0 ? 0 : (required.cols + groups.size - 1) / groups.size;
  groups.padded = gemv || fast ? 8 * gemv_zero_words(needed, groups.size) : 0;
  REJECT_IF(count == 0 || needed == 0 || count != (groups.padded == 0 ? needed : groups.padded), "words.scales_shape",
            where(scales),
            fmt::format("scales of {} outputs and the groups of {} inputs{}", required.rows, required.cols,
                        claim.group_size ? fmt::format(" ({} each)", groups.size) : ""),
            shape_text(scales.shape));
  return groups;
}

std::vector<uint64_t> zeros_shape(const Words& words, const Groups& groups, const model::RequiredWeight& required) {
  const uint64_t count = (required.cols + groups.size - 1) / groups.size;
  switch (words.layout) {
    case Layout::kGptq:
      return {count, (required.rows * words.bits + kWordBits - 1) / kWordBits};
    case Layout::kAwqGemm:
      return {count, required.rows / 8};
    case Layout::kAwqGemv:
      return {required.rows, groups.padded / 8};
    case Layout::kAwqGemvFast:
      break;
  }
  return {groups.padded, required.rows};
}

// `count` fields of `bits` bits that all hold `value`, in whole words.
std::vector<std::byte> repeated_field(uint64_t value, uint64_t bits, uint64_t count) {
  std::vector<std::byte> bytes((count * bits + kWordBits - 1) / kWordBits * 4);
  for (uint64_t bit = 0; bit < count * bits; ++bit)
    if ((value >> bit % bits & 1) != 0) bytes[bit / 8] |= std::byte{1} << bit % 8;
  return bytes;
}

// Symmetric GPTQ has one zero point, 2^(bits - 1), which a v1 file stores one lower. Files that hold it as v2 does but
// are labelled v1 exist (vllm issue 38966); anything else is damaged. The first group tells.
StatusOr<OffsetOrder> zero_convention(const Tensor& zeros, const Words& words, const model::RequiredWeight& required,
                                      const PackingClaim& claim, std::vector<std::string>& notes) {
  const bool v2 = claim.layout == "gptq_v2";
  const OffsetOrder said = v2 ? OffsetOrder::kGptqV2 : OffsetOrder::kGptqV1;
  if (claim.symmetric != true) return said;
  const uint64_t middle = uint64_t{1} << (words.bits - 1);
  const auto as_v1 = repeated_field(middle - 1, words.bits, required.rows);
  const auto as_v2 = repeated_field(middle, words.bits, required.rows);
  TRY(const auto first, read_range(*zeros.source, {zeros.range.offset, as_v1.size()}, as_v1.size()));
  if (first == (v2 ? as_v2 : as_v1)) return said;
  REJECT_IF(v2 || first != as_v2, "words.symmetric_zeros", where(zeros),
            fmt::format("{} for all, since the configuration says symmetric", v2 ? middle : middle - 1),
            "other zero points");
  notes.push_back(
      fmt::format("{}: zero points as gptq_v2 stores them, though the configuration says gptq", zeros.name));
  return OffsetOrder::kGptqV2;
}

// --- the order of inputs

// Inputs sorted by group, or nothing where they lie in order already.
StatusOr<std::shared_ptr<const std::vector<uint32_t>>> input_order(const Tensor& g_idx, uint64_t group_size,
                                                                   const model::RequiredWeight& required) {
  TRY(check_exact_shape(g_idx, {required.cols}, "words.g_idx_shape"));
  TRY(const std::vector<int64_t> groups, read_integers(g_idx, kMostInputs, "words.g_idx_type"));
  const auto count = static_cast<int64_t>((required.cols + group_size - 1) / group_size);
  std::vector<uint64_t> sizes(static_cast<size_t>(count), 0);
  bool sorted = true;
  for (uint64_t k = 0; k < groups.size(); ++k) {
    REJECT_IF(groups[k] < 0 || groups[k] >= count, "words.g_idx_range", where(g_idx),
              fmt::format("groups below {}", count), groups[k]);
    if (groups[k] < 0 || groups[k] >= count) return absl::OutOfRangeError(where(g_idx));
    ++sizes[static_cast<size_t>(groups[k])];
    sorted = sorted && static_cast<uint64_t>(groups[k]) == k / group_size;
  }
  for (size_t g = 0; g < sizes.size(); ++g)
    REJECT_IF(sizes[g] != std::min(group_size, required.cols - g * group_size), "words.g_idx_counts", where(g_idx),
              fmt::format("{} inputs in each group", group_size), fmt::format("{} in group {}", sizes[g], g));
  if (sorted) return std::shared_ptr<const std::vector<uint32_t>>();
  auto order = std::make_shared<std::vector<uint32_t>>(required.cols);
  std::iota(order->begin(), order->end(), 0);
  std::stable_sort(order->begin(), order->end(), [&](uint32_t a, uint32_t b) { return groups[a] < groups[b]; });
  return order;
}

// --- together

tensor::StorageFormat format_of(const Words& words, const Groups& groups, DType scale_dtype, OffsetOrder zeros) {
  tensor::StorageFormat format{.kind = tensor::StorageKind::kGrouped,
                               .bits = static_cast<uint8_t>(words.bits),
                               .group_size = static_cast<uint32_t>(groups.size),
                               .scale_dtype = scale_dtype};
  tensor::Grouping& grouping = format.grouping;
  grouping.packing = layout_name(words.layout);
  grouping.grid = words.layout == Layout::kAwqGemv ? GridOrder::kRowMajor : GridOrder::kColumnMajor;
  grouping.padded_groups = static_cast<uint32_t>(groups.padded);
  grouping.offset = OffsetKind::kZeroPoints;
  grouping.offset_order = zeros;
  switch (words.layout) {
    case Layout::kGptq:
      grouping.order = CodeOrder::kColumns;
      break;
    case Layout::kAwqGemm:
      grouping.order = CodeOrder::kAwqGemm;
      break;
    case Layout::kAwqGemv:
      grouping.order = CodeOrder::kWordRows;
      break;
    case Layout::kAwqGemvFast:  // its zeros are minus scale times zero point
      grouping.order = CodeOrder::kAwqGemvFast;
      grouping.offset = OffsetKind::kBiases;
      grouping.offset_order = OffsetOrder::kLikeScales;
      grouping.offset_dtype = scale_dtype;
      break;
  }
  return format;
}

StatusOr<const Tensor*> find_zeros(const Module& module, const Words& words, const Groups& groups, const Tensor& scales,
                                   const model::RequiredWeight& required) {
  const bool fast = words.layout == Layout::kAwqGemvFast;
  const Tensor* scaled = fast ? module.find("scaled_zeros") : nullptr;
  TRY(const Tensor* zeros, scaled != nullptr ? scaled : need(module, "qzeros", "words.qzeros_missing"));
  TRY(check_type(*zeros, {fast ? std::get<DType>(scales.type) : DType::kI32}, "words.qzeros_type"));
  TRY(check_exact_shape(*zeros, zeros_shape(words, groups, required), "words.qzeros_shape"));
  return zeros;
}

StatusOr<BoundWeight> bind(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim) {
  const Tensor& qweight = *module.find("qweight");
  TRY(check_type(qweight, {DType::kI32, DType::kI16}, "words.qweight_type"));
  TRY(const Words words, choose(qweight, required, claim));
  TRY(const Tensor* scales, need(module, "scales", "words.scales_missing"));
  TRY(check_type(*scales, {DType::kF16, DType::kBF16, DType::kF32}, "words.scales_type"));
  TRY(const Groups groups, find_groups(words, *scales, required, claim));
  TRY(const Tensor* zeros, find_zeros(module, words, groups, *scales, required));
  std::vector<std::string> notes;
  OffsetOrder order = words.layout == Layout::kAwqGemv ? OffsetOrder::kAwqGemv : OffsetOrder::kAwqGemm;
  if (words.layout == Layout::kGptq) {
    TRY(order, zero_convention(*zeros, words, required, claim, notes));
  }
  TRY(BoundWeight bound, bind_grouped({.codes = &qweight, .scales = scales, .offsets = zeros}, required,
                                      format_of(words, groups, std::get<DType>(scales->type), order)));
  bound.notes = std::move(notes);
  const Tensor* g_idx = module.find("g_idx");
  REJECT_IF(g_idx == nullptr && claim.ordered == true, "words.g_idx_missing", where(qweight),
            fmt::format("{}.g_idx beside it, since the configuration says desc_act", module.name), "none");
  if (g_idx != nullptr) {
    TRY(bound.weight.input_order, input_order(*g_idx, groups.size, required));
    bound.used.push_back(g_idx);
  }
  return bound;
}

}  // namespace

Packing words() { return {.name = "GPTQ, AWQ", .claims = claims, .bind = bind}; }

}  // namespace motley::ingest::packings_internal
